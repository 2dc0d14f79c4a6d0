// What every model works on: an index space with homes, and the parts of a computation, one for each domain.
#pragma once

#include <homing/distribution.hpp>
#include <homing/topology.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "array.hpp"
#include "at_home.hpp"

namespace programs {

/// Domains of this machine; a computation by parts has one part for each.
[[nodiscard]] inline std::uint32_t part_count() {
  return static_cast<std::uint32_t>(homing::topology::current().domains().size());
}

/// Indices first <= i < last.
struct interval {
  std::size_t first;
  std::size_t last;
  [[nodiscard]] std::size_t size() const noexcept { return last - first; }
};

/// The p-th of so many nearly equal intervals, as homing::block deals them.
[[nodiscard]] inline interval share_of(std::size_t size, std::size_t parts, std::size_t p) noexcept {
  const auto begin = [&](std::size_t i) { return i * (size / parts) + std::min(i, size % parts); };
  return {begin(p), begin(p + 1)};
}

/// Indices 0..size-1 in blocks over all domains, and what TBB's affinity_partitioner learns of loops over them.
/// Threads: one loop at a time.
class space {
 public:
  explicit space(std::size_t size, std::size_t grain = 1) : homes_(homing::block(size)), grain_(grain) {}
  [[nodiscard]] std::size_t size() const noexcept { return homes_.size(); }
  [[nodiscard]] const homing::regular_distribution<1>& homes() const noexcept { return homes_; }
  [[nodiscard]] tbb::blocked_range<std::size_t> range() const { return {0, size(), grain_}; }
  [[nodiscard]] tbb::blocked_range<std::size_t> range(const interval& i) const { return {i.first, i.last, grain_}; }
  [[nodiscard]] tbb::affinity_partitioner& affinity() noexcept { return affinity_; }

  /// Calls body(first, last), counted.
  template <class Body>
  auto run(const Body& body, std::size_t first, std::size_t last) const {
    count_work(homes_, first, last);
    return body(first, last);
  }

 private:
  homing::regular_distribution<1> homes_;
  std::size_t grain_;
  tbb::affinity_partitioner affinity_;
};

/// What is the same in most models.
class model_base {
 public:
  /// Bytes that were moved to their homes, and the time that took.
  struct migration {
    std::size_t bytes = 0;
    double ms = 0;
  };
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
