// How each programming model deals a computation by parts, of which each is a recursion: what the variants of cilksort,
// heat, transpose and matmul have in common. Each has
//   root(f)           f() is the computation,
//   over(homes, f)    f(first, last) for parts of an index space: first touches,
//   over_parts(f, d)  f(p) for each domain's part; d(p) is where its data begins, for those that can say so,
//   both(f, g)        a fork and its join.
#pragma once

#include <homing/distribution.hpp>
#include <homing/fork_join.hpp>
#include <homing/parallel_for.hpp>
#include <homing/pinned.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "homing_parts.hpp"
#include "node_arenas.hpp"
#include "openmp.hpp"
#include "parts.hpp"
#include "tbb_threads.hpp"

namespace programs {

using positions = tbb::blocked_range<std::size_t>;
using block_homes = homing::regular_distribution<1>;

struct serial_parts {
  static constexpr bool places = false;  ///< whether data is enforced at home
  explicit serial_parts(int) {}
  template <class F>
  void root(const F& f) {
    f();
  }
  template <class F>
  void over(const block_homes& homes, const F& f) {
    f(std::size_t{0}, homes.size());
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    for (std::uint32_t p = 0; p < part_count(); ++p) f(p);
  }
  template <class F, class G>
  void both(const F& f, const G& g) {
    f();
    g();
  }
};

/// TBB: loops, and parallel_invoke.
struct tbb_parts : serial_parts {
  using serial_parts::serial_parts;
  template <class F>
  void over(const block_homes& homes, const F& f) {
    tbb::parallel_for(positions(0, homes.size()), [&f](const positions& r) { f(r.begin(), r.end()); });
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    tbb::parallel_for(std::uint32_t{0}, part_count(), f);
  }
  template <class F, class G>
  void both(const F& f, const G& g) {
    tbb::parallel_invoke(f, g);
  }
};

/// An arena for each node, and in it that node's parts.
class arena_parts : public tbb_parts {
 public:
  explicit arena_parts(int threads) : tbb_parts(threads), arenas_(threads) {}
  template <class F>
  void over(const block_homes& homes, const F& f) {
    arenas_.deal(homes.size(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          positions(first, last), [&f](const positions& r) { f(r.begin(), r.end()); }, tbb::static_partitioner{});
    });
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    arenas_.deal(part_count(), [&f](std::size_t first, std::size_t last) {
      tbb::parallel_for(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), f);
    });
  }

 private:
  node_arenas arenas_;
};

/// OpenMP: tasks.
template <binding Threads>
struct openmp_parts : serial_parts {
  using serial_parts::serial_parts;
  template <class F>
  void root(const F& f) {
    in_tasks<Threads>(f);
  }
  template <class F>
  void over(const block_homes& homes, const F& f) {
    in_team<Threads>([&] {
      const interval own = static_share(homes.size());
      f(own.first, own.last);
    });
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data& data) {
    task_for_each_part<Threads>(f, data);
  }
  template <class F, class G>
  void both(const F& f, const G& g) {
#pragma omp task shared(f)
    f();
    g();
#pragma omp taskwait
  }
};

enum class data_at { first_touch, home };

/// Homing: parts sent to their domains, and its own fork and join.
template <data_at Where>
struct homing_parts : serial_parts {
  static constexpr bool places = Where == data_at::home;
  using serial_parts::serial_parts;
  template <class F>
  void over(const block_homes& homes, const F& f) {
    homing::parallel_for(
        positions(0, homes.size()), [&f](const positions& r) { f(r.begin(), r.end()); }, homes);
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    send_parts(f);
  }
  template <class F, class G>
  void both(const F& f, const G& g) {
    homing::fork_join(f, g);
  }
};

/// The same, and no thread of another domain ever helps.
class pinned_parts : public homing_parts<data_at::home> {
 public:
  explicit pinned_parts(int threads) : homing_parts(threads) {
    const std::uint32_t domains = homing::domain_count();
    for (std::uint32_t d = 0; d < domains; ++d) {
      const std::size_t share = share_of(static_cast<std::size_t>(threads), domains, d).size();
      arenas_.emplace_back(homing::domain_index{d}, static_cast<int>(std::max<std::size_t>(1, share)));
    }
  }
  template <class F>
  void over(const block_homes& homes, const F& f) {
    over_parts(
        [&](std::uint32_t p) {
          const interval own = share_of(homes.size(), part_count(), p);
          tbb::parallel_for(
              positions(own.first, own.last), [&f](const positions& r) { f(r.begin(), r.end()); },
              tbb::static_partitioner{});
        },
        nullptr);
  }
  template <class F, class Data>
  void over_parts(const F& f, const Data&) {
    send_parts([&](std::uint32_t p) { arenas_[p % arenas_.size()].execute([&f, p] { f(p); }); });
  }

 private:
  std::deque<homing::domain_arena> arenas_;
};

}  // namespace programs
