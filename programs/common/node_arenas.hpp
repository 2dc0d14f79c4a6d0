// oneTBB's advice for NUMA: an arena with constraints for each node, and a part of the work in each.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "parts.hpp"
#include "tbb_threads.hpp"

namespace programs {

/// Threads: used by one, which waits. Each arena has its share of the threads; the caller joins those for which it
/// waits. Where there is one thread it goes from arena to arena: to enqueue work would make another.
class node_arenas {
 public:
  explicit node_arenas(int threads) : one_thread_(threads == 1) {
    const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::size_t share = share_of(static_cast<std::size_t>(threads), nodes.size(), n).size();
      arenas_.emplace_back(tbb::task_arena::constraints(nodes[n], static_cast<int>(std::max<std::size_t>(1, share))),
                           0);
    }
  }
  [[nodiscard]] std::size_t count() const noexcept { return arenas_.size(); }

  /// f(arena) in each of them.
  template <class F>
  void in_each(const F& f) {
    if (one_thread_ || count() == 1) {
      for (std::size_t a = 0; a < count(); ++a) arenas_[a].execute([&f, a] { f(a); });
      return;
    }
    std::deque<tbb::task_group> groups(count());
    for (std::size_t a = 0; a < count(); ++a) arenas_[a].enqueue([&f, a] { f(a); }, groups[a]);
    for (std::size_t a = 0; a < count(); ++a) arenas_[a].wait_for(groups[a]);
  }
  /// f(first, last) in each, with its share of so many indices.
  template <class F>
  void deal(std::size_t size, const F& f) {
    in_each([&](std::size_t a) {
      const interval own = share_of(size, count(), a);
      f(own.first, own.last);
    });
  }

 private:
  bool one_thread_;
  std::deque<tbb::task_arena> arenas_;
};

}  // namespace programs
