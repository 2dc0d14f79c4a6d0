/// Threads brought to one place and kept there until the test says so.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <utility>

#include "unit/common/await.hpp"

namespace homing::testing {

/// Holds `count` threads inside an arena, each until `may_go()` is true there. The arena must be able to have so many;
/// a caller who is inside runs meanwhile what comes first. All must have gone before this ends.
template <class MayGo>
class held_threads {
 public:
  held_threads(tbb::task_arena& arena, unsigned count, MayGo may_go) : count_(count), may_go_(std::move(may_go)) {
    for (unsigned i = 0; i < count_; ++i) {
      arena.enqueue([this] {
        present_.fetch_add(1);
        await("the end of the hold", [this] { return may_go_(); });
        gone_.fetch_add(1);
      });
    }
    await("all threads", [this] { return present_.load() == count_; });
  }
  held_threads(const held_threads&) = delete;
  held_threads& operator=(const held_threads&) = delete;
  ~held_threads() {
    await("all threads to go", [this] { return gone_.load() == count_; });
  }
  /// How many are still there.
  [[nodiscard]] unsigned held() const { return present_.load() - gone_.load(); }

 private:
  const unsigned count_;
  const MayGo may_go_;
  std::atomic<unsigned> present_{0};
  std::atomic<unsigned> gone_{0};
};

/// Workers that all look for work at the same moment: held until let_go(), or the end.
class gathering {
 public:
  gathering(tbb::task_arena& arena, unsigned size) : held_(arena, size, is_over{over_}) {}
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;
  ~gathering() { let_go(); }
  void let_go() { over_.store(true); }
  [[nodiscard]] unsigned held() const { return held_.held(); }

 private:
  struct is_over {
    const std::atomic<bool>& over;
    bool operator()() const { return over.load(); }
  };
  std::atomic<bool> over_{false};
  held_threads<is_over> held_;
};

/// Holds so many workers of a domain, in an arena of its own, until the end.
class contender {
 public:
  contender(unsigned domain, unsigned workers)
      : arena_(tbb::task_arena::constraints{}
                   .set_numa_id(static_cast<int>(domain))
                   .set_max_concurrency(static_cast<int>(workers)),
               0),
        held_(arena_, workers) {}
  [[nodiscard]] unsigned held() const { return held_.held(); }

 private:
  tbb::task_arena arena_;
  gathering held_;
};

}  // namespace homing::testing
