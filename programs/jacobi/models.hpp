// What only the Jacobi study has: locality queues under OpenMP's tasks and TBB's loops, stores past the caches, several
// steps in one pass.
#pragma once

#include <homing/locality_queues.hpp>
#include <homing/openmp.hpp>

#include <cstddef>
#include <string_view>

#include "../common/models.hpp"

namespace jacobi_program {

using programs::homing_placed;
using programs::homing_sent;
using programs::openmp;
using programs::space;
using queues = homing::locality_queues<std::size_t>;

/// A task for each index, submitted so that the queues of all domains fill at the same time ("kji").
class openmp_queues : public openmp {
 public:
  static constexpr std::string_view name = "openmp-queues";
  static constexpr std::string_view what = "OpenMP tasks with locality queues";
  using openmp::openmp;
  template <class Body>
  void loop(space& s, const Body& body) {
    const std::size_t parts = programs::part_count();
    const std::size_t most = s.size() / parts + 1;
#pragma omp parallel
#pragma omp single
    for (std::size_t i = 0; i < most; ++i) {
      for (std::size_t p = 0; p < parts; ++p) {
        const programs::interval own = programs::share_of(s.size(), parts, p);
        if (i >= own.size()) continue;
        homing::openmp::submit(queues_, s.homes().home_of(own.first + i), own.first + i,
                               [&s, &body](const queues::entry& taken) {
                                 s.run(body, {taken.item, taken.item + 1});
                               });
      }
    }
  }

 private:
  queues queues_;
};

class homing_queues : public homing_sent {
 public:
  static constexpr std::string_view name = "homing-queues";
  static constexpr std::string_view what = "parallel_for through locality queues";
  using homing_sent::homing_sent;
  template <class Body>
  void loop(space& s, const Body& body) {
    tbb::parallel_for(s.range(), homing::through_queues(
                                     queues_,
                                     [&s](const tbb::blocked_range<std::size_t>& r, auto put) {
                                       for (std::size_t i = r.begin(); i != r.end(); ++i) put(s.homes().home_of(i), i);
                                     },
                                     [&](const queues::entry& taken) {
                                       s.run(body, {taken.item, taken.item + 1});
                                     }));
  }

 private:
  queues queues_;
};

class homing_nontemporal : public homing_placed {
 public:
  static constexpr std::string_view name = "homing-nt";
  static constexpr std::string_view what = "homing-placed with non-temporal stores";
  using homing_placed::homing_placed;
};

class homing_temporal : public homing_placed {
 public:
  static constexpr std::string_view name = "homing-temporal";
  static constexpr std::string_view what = "homing-placed, several steps in one pass (trapezoids)";
  using homing_placed::homing_placed;
};

}  // namespace jacobi_program
