// [A25] Worker threads are made several at a time, and who finds every place taken by one that is being made does not
// give up before it is known whether it comes to be. The test's own pthread_create() stands before the C library's, and
// holds the library's calls up.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <pthread.h>
#include <sched.h>
#include <homing/pinned.hpp>
#include <homing/steal_policy.hpp>
#include <homing/tasks.hpp>

#include <cerrno>
#include <cstddef>
#include <thread>
#include <vector>

#include "runtime/thread/thread_state.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/made_threads.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

constinit sync::atomic<int> inside{0};
constinit sync::atomic<int> wait_for{0};  ///< calls that are inside at once before any returns; 0: nobody waits
constinit sync::atomic<bool> held{false};
constinit sync::atomic<int> refusals_left{0};
constinit sync::atomic<int> made_bound{0};  ///< calls that name CPUs
constinit sync::atomic<int> made_there{0};  ///< of these, that name the CPU that their caller is bound to
constinit sync::atomic<bool> refuses_bound{false};
constinit sync::atomic<bool> workers_held{false};  ///< in their calls; the program's own threads go on
constinit sync::atomic<int> workers_to_hold{0};
constinit sync::atomic<int> made_by_program{0};
thread_local bool is_programs_thread = false;
/// New workers stay where they ask for their name: behind their calls for others, before they look for work. Who
/// looked in vain would sleep, and the next ones would call that one in place of making more.
constinit sync::atomic<bool> held_before_work{false};

/// Whether a call names CPUs; counted.
bool names_cpus(const pthread_attr_t* attributes) {
  cpu_set_t wanted;
  cpu_set_t callers;
  CPU_ZERO(&wanted);
  CPU_ZERO(&callers);
  // Without any, the C library says all that it knows.
  if (pthread_attr_getaffinity_np(attributes, sizeof wanted, &wanted) != 0 || CPU_COUNT(&wanted) == CPU_SETSIZE) {
    return false;
  }
  sched_getaffinity(0, sizeof callers, &callers);
  CPU_AND(&callers, &callers, &wanted);
  made_bound.fetch_add(1, sync::relaxed);
  made_there.fetch_add(CPU_COUNT(&callers) != 0 ? 1 : 0, sync::relaxed);
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  using homing::testing::real_pthread_create;
  if (!homing::testing::is_for_a_worker(attributes)) return real_pthread_create(thread, attributes, start, argument);
  if (is_programs_thread) made_by_program.fetch_add(1, sync::seq_cst);
  inside.fetch_add(1, sync::seq_cst);
  if (!is_programs_thread && workers_to_hold.fetch_sub(1, sync::seq_cst) > 0) {
    while (workers_held.load(sync::seq_cst)) sched_yield();
  }
  while (held.load(sync::seq_cst) || inside.load(sync::seq_cst) < wait_for.load(sync::seq_cst)) sched_yield();
  wait_for.store(0, sync::seq_cst);
  if (names_cpus(attributes) && refuses_bound.load(sync::relaxed)) return EINVAL;
  return refusals_left.load(sync::relaxed) > 0 && refusals_left.fetch_sub(1, sync::relaxed) > 0
             ? EAGAIN
             : real_pthread_create(thread, attributes, start, argument);
}

extern "C" __attribute__((visibility("default"))) int pthread_getname_np(pthread_t thread, char* name,
                                                                         std::size_t size) noexcept {
  while (held_before_work.load(sync::seq_cst)) sched_yield();
  using function = int (*)(pthread_t, char*, std::size_t);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_getname_np"));
  return real(thread, name, size);
}

namespace {

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");

void wait_for_a_worker() { homing::testing::have_a_worker_come(2); }

constexpr int all_workers = 1000;
/// So many of them stay in their calls until workers_held is false.
void hold_workers(int count) {
  workers_to_hold.store(count, sync::seq_cst);
  workers_held.store(true, sync::seq_cst);
}

/// [S19] One spawned task, whoever runs it, is enough for the first worker to have two more made, and so on.
TEST(threads_made, all_at_the_first_work) {
  in_own_process(on_machine("node:1 core:8 pu:1"), [] {
    const auto limit = threads(8);
    held_before_work.store(true, sync::seq_cst);
    tbb::task_group group;
    group.run([] {});
    group.wait();
    await("all workers", [] { return inside.load(sync::seq_cst) == 7; });
    held_before_work.store(false, sync::seq_cst);
  });
}

/// [S19] Tasks for other domains have those that are being made to make their threads. Who sends them makes the first
/// worker, and one more at most.
TEST(threads_made, not_by_who_sends_tasks_to_other_domains) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(8);
    hold_workers(all_workers);
    held_before_work.store(true, sync::seq_cst);
    is_programs_thread = true;
    sync::atomic<int> ran{0};
    {
      homing::task_group group;
      for (std::uint32_t domain : {1U, 2U, 3U, 3U, 2U, 1U}) {
        group.run(homing::on(domain), [&ran] { ran.fetch_add(1, sync::relaxed); });
      }
      EXPECT_LE(made_by_program.load(sync::seq_cst), 2);
      group.wait();
    }
    EXPECT_EQ(ran.load(sync::relaxed), 6);
    workers_held.store(false, sync::seq_cst);
    await("all workers", [] { return inside.load(sync::seq_cst) == 7; });
    EXPECT_LE(made_by_program.load(sync::seq_cst), 2);
    held_before_work.store(false, sync::seq_cst);
  });
}

/// Workers of another arena, held while they make others, on a machine of which each domain has places for more.
class held_others {
 public:
  held_others() {
    hold_workers(all_workers);
    is_programs_thread = true;
    arena_.execute([&] { group_.run([] {}); });
    await("the first workers in their calls",
          [] { return inside.load(sync::seq_cst) == 2 * made_by_program.load(sync::seq_cst); });
    workers_to_hold.store(0, sync::seq_cst);
    EXPECT_TRUE(homing::scheduler::resource_manager::current().others_are_made());
  }
  held_others(const held_others&) = delete;
  held_others& operator=(const held_others&) = delete;
  ~held_others() {
    workers_held.store(false, sync::seq_cst);
    arena_.execute([&] { group_.wait(); });
  }

 private:
  const tbb::global_control limit_ = threads(32);
  tbb::task_arena arena_{8};
  tbb::task_group group_;
};
const homing::testing::environment four_by_eight = on_machine("node:4 core:8 pu:1");

/// [S19] But by who sends one where nobody in its arena searches, who could come upon it.
TEST(threads_made, for_a_task_that_has_nobody_to_rely_on) {
  in_own_process(four_by_eight, [] {
    const held_others others;
    sync::atomic<bool> ran{false};
    tbb::task_arena arena(8);
    arena.execute([&] {
      homing::task_group group;
      group.run(homing::on(1U), [&ran] { ran.store(true, sync::seq_cst); });
      await("a task that its sender does not wait for", [&] { return ran.load(sync::seq_cst); });
      group.wait();
    });
  });
}

/// [S19] [S10] And where those that search may not take it. The first task's worker is held before it looks for work.
TEST(threads_made, for_a_task_of_a_domain_that_others_take_nothing_from) {
  in_own_process(four_by_eight, [] {
    const held_others others;
    held_before_work.store(true, sync::seq_cst);
    tbb::task_arena arena(8);
    homing::initialize(arena, homing::steal_policy::domain);
    arena.execute([] {
      homing::task_group group;
      group.run(homing::on(1U), [] {});
      const int made = made_by_program.load(sync::seq_cst);
      group.run(homing::on(2U), [] {});
      EXPECT_GT(made_by_program.load(sync::seq_cst), made);
      held_before_work.store(false, sync::seq_cst);
      group.wait();
    });
  });
}

/// Neither call of pthread_create() returns before both are there. Of two that enqueue at the same moment, one may
/// serve both, and makes one thread after the other: the second comes later.
TEST(threads_made, two_at_a_time) {
  in_own_process(four_by_two, [] {
    wait_for.store(2, sync::seq_cst);
    std::jthread other(wait_for_a_worker);
    await("a thread that is being made", [] { return inside.load(sync::seq_cst) == 1; });
    wait_for_a_worker();
    EXPECT_GE(inside.load(sync::seq_cst), 2);
  });
}

/// The only worker is being made for another arena, and refused. Whether the enqueuer finds the place taken, free again
/// or refused, nobody calls the library after it.
TEST(threads_made, an_enqueue_meanwhile_learns_of_a_refusal) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(2);
    refusals_left.store(1, sync::relaxed);
    held.store(true, sync::seq_cst);
    sync::atomic<bool> calls{false};
    sync::atomic<bool> ran{false};
    tbb::task_arena first(2);
    tbb::task_arena second(2);
    std::jthread maker([&] {
      first.execute([] {
        tbb::task_group group;
        group.run([] {});
        group.wait();
      });
    });
    await("a thread that is being made", [] { return inside.load(sync::seq_cst) == 1; });
    std::jthread caller([&] {
      calls.store(true, sync::seq_cst);
      second.enqueue([&] { ran.store(true, sync::release); });
    });
    await("a second call", [&] { return calls.load(sync::seq_cst); });
    held.store(false, sync::seq_cst);
    caller.join();
    maker.join();
    await("an enqueued task", [&] { return ran.load(sync::acquire); });
  });
}

/// finalize() waits for the threads that are being made, and ends them.
TEST(threads_made, are_ended_by_finalize) {
  in_own_process(four_by_two, [] {
    for (int round = 0; round < 20; ++round) {
      tbb::task_scheduler_handle handle{tbb::attach{}};
      std::jthread others[2] = {std::jthread(wait_for_a_worker), std::jthread(wait_for_a_worker)};
      for (std::jthread& other : others) other.join();
      EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
      EXPECT_TRUE(homing::scheduler::resource_manager::current().is_idle());
    }
  });
}

/// Binds the calling thread to the first CPU that it may run on. False if there is no other.
bool binds_itself_to_one_of_several_cpus() {
  cpu_set_t mine;
  sched_getaffinity(0, sizeof mine, &mine);
  if (CPU_COUNT(&mine) < 2) return false;
  std::size_t first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  CPU_ZERO(&mine);
  CPU_SET(first, &mine);
  return sched_setaffinity(0, sizeof mine, &mine) == 0;
}

/// A thread begins on its maker's CPUs. One that its program has bound to one CPU, and keeps that busy, would keep its
/// workers waiting: they begin elsewhere. Those that workers make need not be told.
TEST(threads_made, not_on_the_one_cpu_of_their_maker) {
  in_own_process({}, [] {
    const auto limit = threads(4);
    tbb::task_arena arena(4);
    arena.initialize();
    if (!binds_itself_to_one_of_several_cpus()) GTEST_SKIP() << "one CPU";
    arena.execute([] {
      tbb::task_group group;
      group.run([] {});
      group.wait();
    });
    await("all workers", [] { return inside.load(sync::seq_cst) == 3; });
    EXPECT_GE(made_bound.load(), 1);
    EXPECT_EQ(made_there.load(), 0);
  });
}

/// As a CPU that has gone meanwhile is.
TEST(threads_made, also_where_a_binding_is_refused) {
  in_own_process({}, [] {
    const auto limit = threads(2);
    refuses_bound.store(true);
    tbb::task_arena arena(2);
    arena.initialize();
    if (!binds_itself_to_one_of_several_cpus()) GTEST_SKIP() << "one CPU";
    wait_for_a_worker();
    EXPECT_GE(made_bound.load(), 1);
  });
}

/// In an arena of all threads: how many are in each of four domains. All of them have come when it returns.
std::vector<int> threads_by_domain(int count) {
  sync::atomic<int> threads_in[4] = {};
  sync::atomic<int> come{0};
  tbb::task_arena arena(count);
  arena.execute([&] {
    tbb::parallel_for(
        0, count,
        [&](int) {
          threads_in[homing::to_index(homing::current_domain())].fetch_add(1, sync::relaxed);
          come.fetch_add(1, sync::seq_cst);
          await("a thread a task", [&] { return come.load(sync::seq_cst) == count; });
        },
        tbb::simple_partitioner{});
  });
  return {threads_in[0].load(), threads_in[1].load(), threads_in[2].load(), threads_in[3].load()};
}

/// The manager is made by a thread of domain 0; the first work is that of a thread of domain 1, which counts there.
/// With three workers, each domain has one thread.
TEST(threads_made, beside_the_thread_that_asks_first) {
  in_own_process(on_machine("node:4 core:1 pu:1"), [] {
    EXPECT_EQ(to_index(homing::scheduler::this_thread().domain), 0U);  // before it makes the manager: a turn of its own
    const auto limit = threads(4);
    std::jthread([] {
      EXPECT_EQ(threads_by_domain(4), (std::vector{1, 1, 1, 1}));
      EXPECT_EQ(to_index(homing::scheduler::this_thread().domain), 1U);
    });
  });
}

/// Nor does a thread count in the domain of a pinned section that is its first work.
TEST(threads_made, beside_a_thread_whose_first_work_is_pinned) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const auto limit = threads(8);
    EXPECT_EQ(to_index(homing::scheduler::this_thread().domain), 0U);
    homing::pinned(1U, [] {
      tbb::task_group group;
      group.run([] {});
      group.wait();
    });
    EXPECT_EQ(threads_by_domain(8), (std::vector{2, 2, 2, 2}));
  });
}

}  // namespace
