// finalize from several threads at once, while others leave arenas with work in them: it returns in every thread, and
// what was left behind has been done.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/real_pthread_create.hpp"
#include "unit/common/slow_end.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::slow_end;
using homing::testing::threads;

/// More than any other word holds on which a thread of the library sleeps. The one that counts the ended arenas is
/// known by that.
constexpr std::uint32_t arenas_ended_before = 100;
thread_local bool finalizes_here = false;
constinit sync::atomic<bool> refuses_enders{false};
constinit sync::atomic<bool> finalize_sleeps{false};  ///< on that word, or is about to: it has looked for arenas

}  // namespace

/// Stands before the C library's, as the next one.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  return homing::testing::is_for_the_ender(attributes) && refuses_enders.load(sync::relaxed)
             ? EAGAIN
             : homing::testing::real_pthread_create(thread, attributes, start, argument);
}

extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  using function = long (*)(long, ...);
  // Looked up by each call: what guards a static variable may come here itself.
  const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "syscall"));
  std::va_list arguments;
  va_start(arguments, number);
  long passed[6];  // the most that a call has; what the caller has not given is not looked at
  for (long& one : passed) {
    one = va_arg(arguments, long);
  }
  va_end(arguments);
  if (finalizes_here && number == SYS_futex && static_cast<int>(passed[1]) == FUTEX_WAIT_PRIVATE &&
      static_cast<std::uint32_t>(passed[2]) >= arenas_ended_before) {
    finalize_sleeps.store(true, sync::release);
  }
  return real(number, passed[0], passed[1], passed[2], passed[3], passed[4], passed[5]);
}

namespace {

const homing::testing::environment two_by_two = on_machine("node:2 core:2 pu:1");

bool finalize_here() {
  tbb::task_scheduler_handle handle{tbb::attach{}};
  return tbb::finalize(handle, std::nothrow);
}

/// Enqueues into an arena that ends at once: the arena stays behind with its work.
void leave_work(sync::atomic<int>& to_do) {
  to_do.fetch_add(1, sync::relaxed);
  tbb::task_arena arena(2);
  arena.enqueue([&to_do] { to_do.fetch_sub(1, sync::release); });
}

TEST(finalize, from_several_threads_while_arenas_are_left_with_work) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(4);
    sync::atomic<int> to_do{0};
    for (int round = 0; round < 100; ++round) {
      sync::atomic<int> ended{0};
      std::vector<std::jthread> users;
      for (int u = 0; u < 6; ++u) {
        users.emplace_back([&, u] {
          for (int i = 0; i < 5; ++i) {
            leave_work(to_do);
            if (u % 2 == 0) {
              static_cast<void>(finalize_here());
            }
          }
          static_cast<void>(finalize_here());
          ended.fetch_add(1, sync::release);
        });
      }
      await("the end of finalize in every thread", [&] { return ended.load(sync::acquire) == 6; });
    }
    await("the work that was left", [&] { return to_do.load(sync::acquire) == 0; });
  });
}

/// By a thread that is gone afterwards: one that has used the library refers to an arena, and nobody can finalize.
template <typename Body>
void as_another_thread(Body&& body) {
  std::jthread{body}.join();
}

/// Begins to finalize, and returns while the workers are being stopped. Those end when `held` is false again.
std::jthread stop_workers_slowly() {
  slow_end::held.store(true);
  slow_end::ends.store(false);
  as_another_thread([] {
    sync::atomic<bool> ran{false};
    tbb::task_arena(1).enqueue([&] {
      slow_end::at_end_of_this_thread();
      ran.store(true, sync::release);
    });
    await("the first worker", [&] { return ran.load(sync::acquire); });
  });
  std::jthread result([] { static_cast<void>(finalize_here()); });
  await("the stop", [] { return slow_end::ends.load(); });
  return result;
}

/// A call for a worker that comes while workers are being stopped finds none; it must be made up for.
TEST(finalize, work_enqueued_while_workers_are_stopped_is_run) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(3);
    sync::atomic<bool> ran{false};
    std::jthread stops = stop_workers_slowly();
    tbb::task_arena arena(1);
    arena.enqueue([&] { ran.store(true, sync::release); });
    slow_end::held.store(false);
    stops.join();
    await("a task enqueued while workers were stopped", [&] { return ran.load(sync::acquire); });
  });
}

TEST(finalize, ends_although_an_arena_was_left_while_workers_were_stopped) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(3);
    sync::atomic<int> to_do{0};
    std::jthread stops = stop_workers_slowly();
    as_another_thread([&] { leave_work(to_do); });
    slow_end::held.store(false);
    stops.join();
    sync::atomic<bool> ended{false};
    const std::jthread finalizes([&] {
      EXPECT_TRUE(finalize_here());
      ended.store(true, sync::release);
    });
    await("the end of finalize", [&] { return ended.load(sync::acquire); });
    EXPECT_EQ(to_do.load(sync::acquire), 0);
  });
}

/// Who finds nothing to wait for, since another thread is at it, still waits until the workers have ended.
TEST(finalize, returns_in_no_thread_before_the_workers_have_ended) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(3);
    std::jthread stops = stop_workers_slowly();
    sync::atomic<bool> ended{false};
    const std::jthread finalizes([&] {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
      EXPECT_FALSE(slow_end::held.load()) << "a worker lives";
      ended.store(true, sync::release);
    });
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::yield();  // time enough to be wrong; never too much to be right
    }
    slow_end::held.store(false);
    await("the end of finalize", [&] { return ended.load(sync::acquire); });
  });
}

/// No worker may enter it, and none can come.
TEST(finalize, does_what_is_left_in_an_arena_without_a_slot_for_workers) {
  in_own_process(two_by_two, [] {
    sync::atomic<int> ran{0};
    tbb::task_scheduler_handle handle{tbb::attach{}};
    {
      tbb::task_arena arena(2, 2);
      arena.enqueue([&] { ran.fetch_add(1, sync::release); });
    }
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_EQ(ran.load(sync::acquire), 1);
  });
}

/// A worker comes there for what is enqueued only.
TEST(finalize, does_what_was_spawned_and_left_in_an_arena_of_one_thread) {
  in_own_process(two_by_two, [] {
    sync::atomic<int> ran{0};
    tbb::task_scheduler_handle handle{tbb::attach{}};
    tbb::task_group group;
    {
      tbb::task_arena arena(1);
      arena.execute([&] { group.run([&] { ran.fetch_add(1, sync::release); }); });
    }
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_EQ(ran.load(sync::acquire), 1);
    group.wait();
  });
}

/// Who finalizes sleeps meanwhile: another arena keeps it waiting, until what is left has been done. An ender would do
/// that, too, but later.
TEST(finalize, does_what_is_left_in_an_arena_of_one_thread_meanwhile) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(3);
    refuses_enders.store(true, sync::relaxed);
    sync::atomic<bool> goes_on{false};
    sync::atomic<int> ran{0};
    tbb::task_group group;
    as_another_thread([] {
      for (std::uint32_t i = 0; i != arenas_ended_before; ++i) {
        tbb::task_arena(1).initialize();
      }
    });
    as_another_thread([&] {
      tbb::task_arena(2).enqueue([&] {
        await("the order to go on", [&] { return goes_on.load(sync::acquire); });
        tbb::task_arena(1).execute([&] { group.run([&] { ran.fetch_add(1, sync::release); }); });
        await("what was left", [&] { return ran.load(sync::acquire) == 1; });
      });
    });
    sync::atomic<bool> ended{false};
    const std::jthread finalizes([&] {
      finalizes_here = true;
      EXPECT_TRUE(finalize_here());
      ended.store(true, sync::release);
    });
    await("a finalize that has found arenas, and sleeps", [] { return finalize_sleeps.load(sync::acquire); });
    goes_on.store(true, sync::release);
    await("the end of finalize", [&] { return ended.load(sync::acquire); });
    EXPECT_EQ(ran.load(sync::acquire), 1);
    group.wait();
  });
}

/// Of several threads that finalize, the last one must find nobody in its way: neither one that was told no and is
/// still there, nor one that has yet to return.
TEST(finalize, succeeds_in_the_last_of_several_threads) {
  in_own_process(two_by_two, [] {
    const auto limit = threads(4);
    for (int round = 0; round < 20; ++round) {
      std::latch each_has_a_handle(3);
      sync::atomic<int> told{0};
      sync::atomic<int> ended{0};
      std::vector<std::jthread> users;
      for (int u = 0; u < 3; ++u) {
        users.emplace_back([&] {
          tbb::task_scheduler_handle handle{tbb::attach{}};
          tbb::parallel_for(0, 100, [](int) {});
          each_has_a_handle.arrive_and_wait();
          ended.fetch_add(tbb::finalize(handle, std::nothrow) ? 1 : 0, sync::relaxed);
          told.fetch_add(1, sync::release);
          await("the others' finalize", [&] { return told.load(sync::acquire) == 3; });
        });
      }
      users.clear();
      ASSERT_GE(ended.load(sync::relaxed), 1) << "round " << round;
    }
  });
}

}  // namespace
