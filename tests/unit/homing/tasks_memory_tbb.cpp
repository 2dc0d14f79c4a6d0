// Tasks for which there is no memory: the call throws, nobody waits for what was not sent, and nothing is lost. Memory
// is refused at the first, second, ... allocation of the test's thread, as far as a call makes some.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "unit/common/held_threads.hpp"
#include "unit/common/own_process.hpp"

namespace {

/// Of the thread's allocations, those that are still granted; negative: all.
thread_local int granted = -1;

void* allocate(std::size_t size, std::size_t alignment) {
  if (granted == 0) throw std::bad_alloc();
  if (granted > 0) --granted;
  void* const p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

// Not inline: GCC would see free() beside a call of operator new that it has not inlined, and warn.
[[gnu::noinline]] void release(void* p) noexcept { std::free(p); }

}  // namespace

// The library's calls come here too.
void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

namespace {

using homing::on;
using homing::testing::gathering;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using parallelism = tbb::global_control;

/// Calls `call` up to `times` times with so many allocations granted. How often it came back without an exception.
template <class Call>
int calls_with(int allocations, int times, Call&& call) {
  for (int done = 0; done < times; ++done) {
    granted = allocations;
    try {
      call();
    } catch (const std::bad_alloc&) {
      granted = -1;
      return done;
    }
    granted = -1;
  }
  return times;
}

constexpr int allocations_max = 8;  // more than one call makes
constexpr int calls = 1000;         // a deque must grow

/// A task that has no room where it belongs is kept all the same: none is refused, none is lost.
TEST(tasks_without_memory, a_group_sends_all_the_same) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 1);
    for (int k = 0; k <= allocations_max; ++k) {
      for (unsigned d = 0; d < 5; ++d) {
        const auto counter = std::make_shared<int>(0);
        tbb::task_arena arena(1, 1);
        arena.execute([&] {
          homing::task_group group;
          const homing::place where = d == 4 ? homing::place() : on(d);
          const int sent = calls_with(k, calls, [&] { group.run(where, [counter] { ++*counter; }); });
          EXPECT_EQ(group.wait(), tbb::task_group_status::complete);
          EXPECT_EQ(sent, calls);
          EXPECT_EQ(*counter, sent);
          EXPECT_EQ(counter.use_count(), 1) << "a task has been lost";
        });
      }
    }
  });
}

/// What cannot be brought about from outside: others' doors may throw.
TEST(tasks_without_memory, what_a_door_refuses_is_gone_and_not_waited_for) {
  const auto life = std::make_shared<int>(0);
  const auto refusing = [](auto&&...) { throw std::bad_alloc(); };
  EXPECT_THROW(homing::detail::value_of<int>([life] { return 1; }, refusing), std::bad_alloc);
  EXPECT_THROW(homing::detail::send_function(
                   nullptr, [life] {}, refusing),
               std::bad_alloc);
  tbb::detail::d1::wait_context wait(0);
  tbb::task_group_context context;
  EXPECT_THROW(homing::detail::send_function(
                   &wait, [life] {}, refusing),
               std::bad_alloc);
  tbb::detail::d1::wait(wait, context);
  EXPECT_EQ(life.use_count(), 1);
}

TEST(tasks_without_memory, an_arena_of_one_domain_that_was_not_made_leaves_the_next_its_domains) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const parallelism limit(parallelism::max_allowed_parallelism, 9);
    tbb::task_arena(1, 1).initialize();  // the thread has what it needs for all arenas
    const int made = calls_with(0, 1, [] { const homing::domain_arena none(homing::domain_index{1}); });
    EXPECT_EQ(made, 0);
    tbb::task_arena any(8, 0);
    const gathering all(any, 8);  // hangs if only one domain's workers may come
  });
}

}  // namespace
