/// For tests whose own pthread_create() stands before the C library's, and that wait for a worker to come.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include "sync/atomic.hpp"
#include "unit/common/await.hpp"
#include "unit/common/real_pthread_create.hpp"

namespace homing::testing {

/// The library makes its workers with attributes, std::thread makes its threads without.
inline bool is_for_a_worker(const pthread_attr_t* attributes) noexcept { return attributes != nullptr; }

/// Enqueues a task in a new arena of so many threads, and nothing else; returns when a worker has run it.
inline void have_a_worker_come(int concurrency) {
  tbb::task_arena arena(concurrency);
  sync::atomic<bool> ran{false};
  arena.enqueue([&] { ran.store(true, sync::release); });
  await("an enqueued task", [&] { return ran.load(sync::acquire); });
}

}  // namespace homing::testing
