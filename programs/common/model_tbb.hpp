// TBB as its documents advise: parallel_for with each partitioner, task_group; and one task_arena for each NUMA node.
// Nothing here is Homing's: these run on stock oneTBB and on our library alike.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "space.hpp"

namespace programs {

/// Threads and tasks, which all variants on TBB share.
class tbb_tasks : public model_base {
 public:
  explicit tbb_tasks(int threads)
      : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)), arena_(threads) {}

  template <class F>
  void enter(F&& f) {
    arena_.execute(f);
  }
  template <class F, class G>
  void invoke(const F& f, const G& g) {
    tbb::parallel_invoke(f, g);
  }
  template <class F>
  void all(std::size_t count, const F& f) {
    tbb::task_group children;
    for (std::size_t i = 1; i < count; ++i) children.run([&f, i] { f(i); });
    if (count > 0) children.run_and_wait([&f] { f(0); });
  }
  template <class F, class Data>
  void parts(const F& f, const Data&) {
    all(part_count(), [&f](std::size_t p) { f(static_cast<std::uint32_t>(p)); });
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

enum class partitioner { automatic, fixed, affinity };

template <partitioner How>
class tbb_model : public tbb_tasks {
 public:
  static constexpr std::string_view name = How == partitioner::automatic ? "tbb"
                                           : How == partitioner::fixed   ? "tbb-static"
                                                                         : "tbb-affinity";
  static constexpr std::string_view what = How == partitioner::automatic ? "auto_partitioner; task_group"
                                           : How == partitioner::fixed   ? "static_partitioner"
                                                                         : "affinity_partitioner";
  using tbb_tasks::tbb_tasks;

  template <class Space, class Body>
  void loop(Space& s, const Body& body) {
    const auto part = [&](const typename Space::range_type& r) { s.run(body, r); };
    with_partitioner(s, [&](auto&& p) { tbb::parallel_for(s.range(), part, p); });
  }
  template <class Space, class T, class Body>
  T sum(Space& s, T zero, const Body& body) {
    const auto part = [&](const typename Space::range_type& r, T so_far) { return so_far + s.run(body, r); };
    return with_partitioner(s, [&](auto&& p) { return tbb::parallel_reduce(s.range(), zero, part, std::plus<>(), p); });
  }

 private:
  template <class Space, class F>
  static auto with_partitioner(Space& s, const F& f) {
    if constexpr (How == partitioner::affinity) {
      return f(s.affinity());
    } else if constexpr (How == partitioner::fixed) {
      return f(tbb::static_partitioner{});
    } else {
      return f(tbb::auto_partitioner{});
    }
  }
};

/// oneTBB's advice for NUMA: an arena with constraints for each node, and a part of the work in each.
class tbb_arenas : public tbb_tasks {
 public:
  static constexpr std::string_view name = "tbb-arenas";
  static constexpr std::string_view what = "one task_arena for each NUMA node";

  explicit tbb_arenas(int threads) : tbb_tasks(threads) {
    const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::size_t share = share_of(static_cast<std::size_t>(threads), nodes.size(), n).size();
      arenas_.emplace_back(tbb::task_arena::constraints(nodes[n], static_cast<int>(std::max<std::size_t>(1, share))),
                           0);
    }
  }

  /// Each arena has threads of its own; the caller joins those for which it waits.
  template <class F>
  void enter(F&& f) {
    f();
  }
  template <class Space, class Body>
  void loop(Space& s, const Body& body) {
    in_each([&](std::size_t a) {
      tbb::parallel_for(
          s.share(arenas_.size(), a), [&](const typename Space::range_type& r) { s.run(body, r); },
          tbb::static_partitioner{});
    });
  }
  template <class Space, class T, class Body>
  T sum(Space& s, T zero, const Body& body) {
    std::vector<T> sums(arenas_.size(), zero);
    in_each([&](std::size_t a) {
      sums[a] = tbb::parallel_reduce(
          s.share(arenas_.size(), a), zero,
          [&](const typename Space::range_type& r, T so_far) { return so_far + s.run(body, r); }, std::plus<>(),
          tbb::static_partitioner{});
    });
    for (const T& sum : sums) zero = zero + sum;
    return zero;
  }
  template <class F, class Data>
  void parts(const F& f, const Data&) {
    const std::uint32_t count = part_count();
    in_each([&](std::size_t a) {  // a node's parts, where a domain is less than a node, and of all nodes if they differ
      const interval mine = share_of(count, arenas_.size(), a);
      tbb::parallel_for(mine.first, mine.last, [&](std::size_t p) { f(static_cast<std::uint32_t>(p)); });
    });
  }

  /// f(arena) in each arena.
  template <class F>
  void in_each(const F& f) {
    std::deque<tbb::task_group> groups(arenas_.size());
    for (std::size_t a = 0; a < arenas_.size(); ++a) arenas_[a].enqueue([&f, a] { f(a); }, groups[a]);
    for (std::size_t a = 0; a < arenas_.size(); ++a) arenas_[a].wait_for(groups[a]);
  }
  [[nodiscard]] std::size_t count() const noexcept { return arenas_.size(); }

 private:
  std::deque<tbb::task_arena> arenas_;
};

}  // namespace programs
