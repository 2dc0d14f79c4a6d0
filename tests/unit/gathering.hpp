/// Workers brought to one place: they all look for work at the same moment, when the test says so.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <atomic>

#include "unit/await.hpp"

namespace homing::testing {

/// Holds `size` workers inside an arena until let_go(). The arena must be able to have so many.
class gathering {
 public:
  gathering(tbb::task_arena& arena, unsigned size) : size_(size) {
    for (unsigned i = 0; i < size_; ++i) {
      arena.enqueue([this] {
        present_.fetch_add(1);
        await("the end of the gathering", [this] { return over_.load(); });
        left_.fetch_add(1);
      });
    }
    await("all workers", [this] { return present_.load() == size_; });
  }
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;
  ~gathering() {
    let_go();
    await("the last worker's leave", [this] { return left_.load() == size_; });
  }
  void let_go() { over_.store(true); }

 private:
  const unsigned size_;
  std::atomic<unsigned> present_{0};
  std::atomic<unsigned> left_{0};
  std::atomic<bool> over_{false};
};

}  // namespace homing::testing
