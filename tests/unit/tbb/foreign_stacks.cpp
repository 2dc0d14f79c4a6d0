// A thread's first use of the library may be on a stack that is not its own, or in the child of a fork: what counts as
// deep in a stack, where a wait steals nothing any more, is found all the same.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "unit/common/await.hpp"

namespace {

using homing::testing::await;
using tbb::task_arena;
using tbb::task_group;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool knows_every_stack = true;  // the sanitizer: it is not told of fibers, and follows no fork of a thread
#else
constexpr bool knows_every_stack = false;
#endif

constexpr std::size_t stack_bytes = 256 * 1024;

void use_library() {
  tbb::parallel_for(0, 10, [](int) {});
}

ucontext_t own_place, fiber_place;  // of the one fiber that a test makes

/// use_library() on a stack of the program's own making.
void use_library_on(void* stack) {
  getcontext(&fiber_place);
  fiber_place.uc_stack.ss_sp = stack;
  fiber_place.uc_stack.ss_size = stack_bytes;
  fiber_place.uc_link = &own_place;
  makecontext(
      &fiber_place, [] { use_library(); }, 0);
  swapcontext(&own_place, &fiber_place);
}

/// Two threads in an arena without workers: one spawns and goes on only once the tasks have run, so the other one,
/// which waits for them, must steal them.
void expect_that_this_thread_steals() {
  task_arena arena(2, 2);
  task_group group;
  std::atomic<int> ran{0};
  std::atomic<bool> spawned{false};
  std::thread spawner([&] {
    arena.execute([&] {
      for (int i = 0; i < 3; ++i) group.run([&] { ++ran; });
      spawned = true;
      await("the thread that waits to steal", [&] { return ran == 3; });
    });
  });
  await("three tasks", [&] { return spawned.load(); });
  arena.execute([&] { group.wait(); });
  spawner.join();
  EXPECT_EQ(ran, 3);
}

TEST(foreign_stacks, a_thread_that_began_on_a_fiber_steals_on_its_own_stack) {
  if (knows_every_stack) GTEST_SKIP() << "the sanitizer is not told of fibers";
  const std::unique_ptr<std::byte[]> heap(new std::byte[stack_bytes]);
  void* const mapped = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  for (void* const stack : {static_cast<void*>(heap.get()), mapped}) {
    std::thread([&] {
      use_library_on(stack);
      expect_that_this_thread_steals();
    }).join();
  }
  munmap(mapped, stack_bytes);
}

TEST(foreign_stacks, a_thread_steals_on_a_fiber) {
  if (knows_every_stack) GTEST_SKIP() << "the sanitizer is not told of fibers";
  const std::unique_ptr<std::byte[]> stack(new std::byte[stack_bytes]);
  std::thread([&] {
    use_library();
    getcontext(&fiber_place);
    fiber_place.uc_stack.ss_sp = stack.get();
    fiber_place.uc_stack.ss_size = stack_bytes;
    fiber_place.uc_link = &own_place;
    makecontext(
        &fiber_place, [] { expect_that_this_thread_steals(); }, 0);
    swapcontext(&own_place, &fiber_place);
  }).join();
}

/// Each task that is stolen waits, and so takes up the next one on top of itself, unless that ends in time.
void fill_stack() {
  constexpr int tasks = 20'000;
  task_arena arena(2, 2);
  task_group outer;
  task_group inner;
  auto last = inner.defer([] {});
  std::atomic<int> started{0};
  std::atomic<bool> spawned{false};
  std::thread spawner([&] {
    arena.execute([&] {
      for (int i = 0; i < tasks; ++i) {
        outer.run([&] {
          ++started;
          inner.wait();
        });
      }
      spawned = true;
      // Until no more are begun. Were this too short, the stack would be less full, and the test see less.
      for (int seen = -1, quiet = 0; quiet < 100'000; ++quiet) {
        if (std::exchange(seen, started.load()) != seen) quiet = 0;
        std::this_thread::yield();
      }
      inner.run(std::move(last));
      inner.wait();
      outer.wait();
    });
  });
  await("the tasks", [&] { return spawned.load(); });
  arena.execute([&] { outer.wait(); });
  spawner.join();
}

void* fork_and_fill(void* result) {
  const pid_t child = fork();
  if (child == 0) {
    fill_stack();
    _exit(0);
  }
  waitpid(child, static_cast<int*>(result), 0);
  return nullptr;
}

TEST(foreign_stacks, the_child_of_a_fork_has_the_stack_of_the_thread_that_forked) {
  if (knows_every_stack) GTEST_SKIP() << "the sanitizer does not follow the fork of a thread";
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, stack_bytes);
  pthread_t forker;
  int status = -1;
  ASSERT_EQ(pthread_create(&forker, &small, &fork_and_fill, &status), 0);
  pthread_join(forker, nullptr);
  pthread_attr_destroy(&small);
  EXPECT_FALSE(WIFSIGNALED(status)) << "the child ended by signal " << WTERMSIG(status);
  EXPECT_EQ(status, 0);
}

}  // namespace
