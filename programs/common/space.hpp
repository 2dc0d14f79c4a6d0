// What every model works on: an index space with homes, and the parts of a computation, one for each domain.
#pragma once

#include <homing/distribution.hpp>
#include <homing/topology.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "array.hpp"
#include "at_home.hpp"
#include "parts.hpp"
#include "placing.hpp"

namespace programs {

/// Indices 0..size-1 in blocks over all domains, and what TBB's affinity_partitioner learns of loops over them.
/// Bodies get (first, last). Threads: one loop at a time.
class space {
 public:
  using range_type = tbb::blocked_range<std::size_t>;
  explicit space(std::size_t size, std::size_t grain = 1) : homes_(homing::block(size)), grain_(grain) {}
  [[nodiscard]] std::size_t size() const noexcept { return homes_.size(); }
  [[nodiscard]] const homing::regular_distribution<1>& homes() const noexcept { return homes_; }
  [[nodiscard]] range_type range() const { return {0, size(), grain_}; }
  /// The p-th of so many equal parts.
  [[nodiscard]] range_type share(std::size_t parts, std::size_t p) const {
    const interval mine = share_of(size(), parts, p);
    return {mine.first, mine.last, grain_};
  }
  [[nodiscard]] tbb::affinity_partitioner& affinity() noexcept { return affinity_; }

  /// Calls the body, counted.
  template <class Body>
  auto run(const Body& body, const range_type& r) const {
    count_work(homes_, r.begin(), r.end());
    return body(r.begin(), r.end());
  }

 private:
  homing::regular_distribution<1> homes_;
  std::size_t grain_;
  tbb::affinity_partitioner affinity_;
};

/// The points of a cube, the domains as a grid in it. Bodies get a box of planes, rows and columns.
class cube {
 public:
  using range_type = tbb::blocked_range3d<std::size_t>;
  explicit cube(std::size_t side, std::size_t points_a_task = 4096)
      : homes_(homing::block_grid<3>({side, side, side}, homing::domain_set::all())),
        rows_(std::clamp<std::size_t>(points_a_task / side, 1, side)) {}
  [[nodiscard]] std::size_t side() const noexcept { return homes_.along(0).extent(); }
  [[nodiscard]] const homing::regular_distribution<3>& homes() const noexcept { return homes_; }
  [[nodiscard]] range_type range() const { return share(1, 0); }
  /// The p-th of so many equal parts, by planes.
  [[nodiscard]] range_type share(std::size_t parts, std::size_t p) const {
    const interval planes = share_of(side(), parts, p);
    return {planes.first, planes.last, 1, 0, side(), rows_, 0, side(), side()};
  }
  [[nodiscard]] tbb::affinity_partitioner& affinity() noexcept { return affinity_; }

  template <class Body>
  auto run(const Body& body, const range_type& r) const {
    const homing::box<3> part{{r.pages().begin(), r.rows().begin(), r.cols().begin()},
                              {r.pages().end(), r.rows().end(), r.cols().end()}};
    count_work(homes_, part);
    return body(part);
  }

 private:
  homing::regular_distribution<3> homes_;
  std::size_t rows_;
  tbb::affinity_partitioner affinity_;
};

/// What is the same in most models.
class model_base {
 public:
  [[nodiscard]] const migration& moved() const noexcept { return moved_; }

  /// Runs all of a program: where its threads may be set up.
  template <class F>
  void enter(F&& f) {
    f();
  }
  /// Runs a computation made of tasks: invoke(), all() and parts() may be called inside.
  template <class F>
  void root(F&& f) {
    f();
  }
  /// Data made by one thread, or by loops that ran elsewhere: a variant that enforces homes moves it there.
  template <class Dist, class T>
  void place(const Dist&, array<T>&) {}

 protected:
  migration moved_;
};

}  // namespace programs
