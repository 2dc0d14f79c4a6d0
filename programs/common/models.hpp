// The variants, by kind of program: loops over index spaces, recursion over data in parts, trees of tasks.
#pragma once

#include "driver.hpp"
#include "model_homing.hpp"
#include "model_openmp.hpp"
#include "model_serial.hpp"
#include "model_tbb.hpp"

namespace programs {

using tbb_auto = tbb_model<partitioner::automatic>;
using tbb_static = tbb_model<partitioner::fixed>;
using tbb_affinity = tbb_model<partitioner::affinity>;
using openmp = openmp_model<binding::none>;
using openmp_affinity = openmp_model<binding::places>;
using homing_sent = homing_model<sending::work>;
using homing_placed = homing_model<sending::work_and_data>;
using homing_pinned = homing_model<sending::pinned>;

template <template <class> class Solver>
[[nodiscard]] int run_loops(int argc, char** argv, const description& d) {
  return run_program<Solver, serial_model, tbb_auto, tbb_static, tbb_affinity, tbb_arenas, openmp, openmp_affinity,
                     homing_sent, homing_placed>(argc, argv, d);
}
/// The pinned runtime's programs. A recursion has no partitioner, hence no tbb-static and tbb-affinity.
template <template <class> class Solver>
[[nodiscard]] int run_parts(int argc, char** argv, const description& d) {
  return run_program<Solver, serial_model, tbb_auto, tbb_arenas, openmp, openmp_affinity, homing_sent, homing_placed,
                     homing_pinned>(argc, argv, d);
}
/// Trees without data: nothing to place, and no work may be kept from other nodes.
template <template <class> class Solver>
[[nodiscard]] int run_tasks(int argc, char** argv, const description& d) {
  return run_program<Solver, serial_model, tbb_auto, openmp, openmp_affinity, homing_sent>(argc, argv, d);
}

/// The children of a tree's root: dealt over the domains, where the model has a word for that.
template <class Model, class F>
void deal(Model& m, std::size_t count, const F& f) {
  if constexpr (requires { m.deal(count, f); }) {
    m.deal(count, f);
  } else {
    m.all(count, f);
  }
}

}  // namespace programs
