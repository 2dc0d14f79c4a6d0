#include "measure.hpp"

#include <homing/lab.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "../common/stopwatch.hpp"
#include "kernel.hpp"
#include "sweep.hpp"

namespace jacobi {
namespace {

constexpr int warm_up_sweeps = 1;

int sweeps_in_all(const options& o) { return warm_up_sweeps + o.sweeps * o.repetitions; }

// Interleaved pages have no toucher: a block is at home with the first domain on the node that holds its first page.
void find_homes(run_state& run) {
  const homing::topology::snapshot machine = homing::topology::current();
  for (std::size_t b = 0; b < run.shape().block_count(); ++b) {
    const extents& first = run.shape().box_of(b).first;
    double* const site = run.arrays().first() + run.shape().place_of(first.i, first.j, first.k);
    const homing::page_census census = homing::where({site, sizeof(double)});
    for (const auto& d : machine.domains()) {
      if (census.on(machine.memory_id(d.index)) == 0) continue;
      run.set_home(b, d.index);
      break;
    }
  }
}

}  // namespace

fresh_array serial_result(const options& o) {
  const lattice l(o.sites, o.block);
  const site_box all{{0, 0, 0}, l.sites()};
  fresh_array from(l.values());
  fresh_array to(l.values());
  touch_block(l, from.data(), to.data(), all);
  double* a = from.data();
  double* b = to.data();
  for (int s = 0; s < sweeps_in_all(o); ++s) {
    sweep_block(l, a, b, all);
    std::swap(a, b);
  }
  return a == from.data() ? std::move(from) : std::move(to);
}

measurement measure(const variant& v, const options& o, const fresh_array* expected) {
  const lattice l(o.sites, o.block);
  run_state run(l);
  const std::unique_ptr<executor> threads =
      v.uses_tbb() ? make_tbb_executor(v, o.threads, o.pin) : make_openmp_executor(v, o.threads, o.pin);
  if (v.by == touch::interleaved) run.arrays().interleave();
  threads->touch(run);
  if (v.by == touch::interleaved) find_homes(run);

  const auto sweep = [&](int count) {
    for (int s = 0; s < count; ++s) {
      threads->sweep(run);
      run.arrays().swap();
    }
  };
  sweep(warm_up_sweeps);
  run.forget_counts();
  measurement result{};
  const std::string label = o.label.empty() ? std::string(v.name) : o.label;
  for (int r = 0; r < o.repetitions; ++r) {
    const homing::lab::region counted(label);
    const std::int64_t begun_ns = bench::wall_ns();
    sweep(o.sweeps);
    const auto taken_ns = static_cast<double>(std::max<std::int64_t>(bench::wall_ns() - begun_ns, 1));
    result.mlups.push_back(static_cast<double>(l.sites().sites()) * o.sweeps * 1e3 / taken_ns);
  }
  std::sort(result.mlups.begin(), result.mlups.end());
  result.processed = run.processed();
  result.at_home = run.at_home();
  if (result.processed != l.block_count() * static_cast<std::uint64_t>(o.sweeps * o.repetitions)) {
    std::fprintf(stderr, "jacobi: %s: blocks were lost or done twice\n", std::string(v.name).c_str());
    std::exit(3);
  }
  result.identical =
      expected == nullptr || std::memcmp(run.arrays().from(), expected->data(), l.values() * sizeof(double)) == 0;
  return result;
}

}  // namespace jacobi
