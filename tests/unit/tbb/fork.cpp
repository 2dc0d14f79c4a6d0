// A child of fork() finds no lock taken, wherever its parent's threads were: each child uses everything and ends by
// itself, or its alarm ends it.
#include <gtest/gtest.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/forked_child.hpp"
#include "unit/common/open_arena.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::child_can;
using homing::testing::in_own_process;
using homing::testing::open_arena;

class counting_observer : public tbb::task_scheduler_observer {
 public:
  explicit counting_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~counting_observer() override { observe(false); }
  void on_scheduler_entry(bool) override { ++entries; }
  std::atomic<unsigned> entries{0};
};

void suspend_and_resume() {
  tbb::task::suspend([](tbb::task::suspend_point point) { tbb::task::resume(point); });
}

/// Loops, groups, contexts, exceptions, suspension, isolation: on the calling thread if need be.
bool use_what_needs_no_worker() {
  std::atomic<unsigned> ran{0};
  tbb::parallel_for(0, 100, [&](int) { ++ran; });
  tbb::task_group group;
  for (unsigned i = 0; i < 20; ++i) {
    group.run([&] { tbb::parallel_for(0, 4, [&](int) { ++ran; }); });
  }
  group.wait();
  group.run([&] { suspend_and_resume(); });
  group.wait();
  tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, 10, [&](int) { ++ran; }); });
  bool caught = false;
  try {
    tbb::parallel_for(0, 10, [](int) { throw std::runtime_error("expected"); });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  tbb::task_group outer;
  outer.run_and_wait([&] {
    tbb::task_group inner;
    inner.run_and_wait([] {});
    outer.cancel();
  });
  return ran == 190 && caught;
}

/// And arenas with workers, enqueued tasks, observers, limits, locks, memory.
bool use_everything() {
  bool good = use_what_needs_no_worker();
  tbb::task_arena arena(2);
  counting_observer observer(arena);
  std::atomic<bool> enqueued{false};
  arena.enqueue([&] { enqueued = true; });
  homing::testing::await("an enqueued task of a child", [&] { return enqueued.load(); });
  arena.execute([&] { good = use_what_needs_no_worker() && good; });
  tbb::mutex lock;
  {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
    tbb::parallel_for(0, 50, [&](int) { const tbb::mutex::scoped_lock hold(lock); });
  }
  tbb::concurrent_queue<int> queue;
  queue.push(1);
  return good && !tbb::info::numa_nodes().empty() && observer.entries > 0;
}

/// Threads that do one thing each, again and again, as long as this lives.
class restless_threads {
 public:
  explicit restless_threads(std::vector<void (*)()> doings) {
    for (const auto doing : doings) {
      threads_.emplace_back([this, doing] {
        while (!over_) {
          doing();
        }
      });
    }
  }
  ~restless_threads() {
    over_ = true;
    for (std::thread& t : threads_) {
      t.join();
    }
  }
  restless_threads(const restless_threads&) = delete;
  restless_threads& operator=(const restless_threads&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

void enter_arenas() {
  tbb::task_arena arena(3);
  arena.execute([] { tbb::parallel_for(0, 20, [](int) {}); });
  std::atomic<bool> done{false};
  arena.enqueue([&] { done = true; });
  while (!done) {  // or arenas that wait for a worker would pile up
    std::this_thread::yield();
  }
}
void be_a_new_thread() {
  std::thread([] { tbb::parallel_for(0, 10, [](int) {}); }).join();
}
void suspend_often() {
  tbb::task_group group;
  for (int i = 0; i < 8; ++i) {
    group.run([] { suspend_and_resume(); });
  }
  group.wait();
}
void observe_often() {
  tbb::task_arena arena(2);
  counting_observer observer(arena);
  arena.execute([] { tbb::parallel_for(0, 10, [](int) {}); });
}
void cancel_often() {
  tbb::task_group outer;
  outer.run_and_wait([&] {
    tbb::task_group inner;
    inner.run_and_wait([&] { outer.cancel(); });
  });
}
void limit_often() { const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 3); }

const std::vector<void (*)()> everything_at_once = {enter_arenas,  be_a_new_thread, suspend_often,
                                                    observe_often, cancel_often,    limit_often};

constexpr unsigned rounds = 60;

/// In a process of its own, so that each round sees a first use.
TEST(fork, during_another_threads_first_use) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  static_cast<void>(in_own_process({}, [] {
    for (unsigned round = 0; round < rounds; ++round) {
      // A child whose second thread begins; it forks meanwhile.
      EXPECT_TRUE(child_can([&] {
        std::atomic<bool> begun{false};
        std::thread other([&] {
          begun = true;
          tbb::parallel_for(0, 10, [](int) {});
        });
        while (!begun) {
        }
        for (unsigned steps = round * round * 40; steps != 0; --steps) {  // to the next moment
          static_cast<void>(begun.load());
        }
        const bool good = child_can(use_everything);
        other.join();
        return good;
      })) << "in round "
          << round;
    }
  }));
}

TEST(fork, while_threads_use_everything) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  const restless_threads others(everything_at_once);
  for (unsigned round = 0; round < rounds; ++round) {
    ASSERT_TRUE(child_can(use_everything)) << "in round " << round;
  }
}

TEST(fork, inside_a_task_while_threads_use_everything) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  const restless_threads others(everything_at_once);
  for (unsigned round = 0; round < rounds; ++round) {
    bool good = true;
    tbb::task_group group;
    group.run_and_wait([&] {
      tbb::parallel_for(0, 8, [&](int i) {
        if (i == 3) {
          good = child_can(use_what_needs_no_worker);
        }
      });
    });
    ASSERT_TRUE(good) << "in round " << round;
  }
}

TEST(fork, inside_execute_while_threads_use_everything) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  const restless_threads others(everything_at_once);
  tbb::task_arena arena(3);
  const restless_threads in_the_arena({enter_arenas});
  for (unsigned round = 0; round < rounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      arena.enqueue([] { tbb::parallel_for(0, 5, [](int) {}); });
    }
    bool good = true;
    arena.execute([&] { good = child_can(use_what_needs_no_worker); });
    ASSERT_TRUE(good) << "in round " << round;
  }
}

TEST(fork, an_arena_made_before_it_serves_the_child) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  tbb::task_arena arena(2, 1);
  arena.execute([] { tbb::parallel_for(0, 100, [](int) {}); });
  for (unsigned round = 0; round < rounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      arena.enqueue([] { tbb::parallel_for(0, 5, [](int) {}); });
    }
    ASSERT_TRUE(child_can([&] {
      bool good = false;
      arena.execute([&] { good = use_what_needs_no_worker(); });
      std::atomic<bool> enqueued{false};
      arena.enqueue([&] { enqueued = true; });
      homing::testing::await("a task that a child enqueued in an arena of its parent", [&] { return enqueued.load(); });
      return good;
    })) << "in round "
        << round;
  }
}

/// Holds every thread but its maker's in its callback until it is let go.
class holding_observer : public tbb::task_scheduler_observer {
 public:
  explicit holding_observer(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  ~holding_observer() override { observe(false); }
  void on_scheduler_entry(bool) override {
    if (std::this_thread::get_id() != maker_) {
      is_holding = true;
      while (!go) {
        std::this_thread::yield();
      }
    }
  }
  std::atomic<bool> is_holding{false};
  std::atomic<bool> go{false};

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
};

/// `in_child` while another thread is in a callback of the arena's observer.
template <typename Body>
void fork_during_a_callback(tbb::task_arena& arena, Body&& in_child) {
  holding_observer observer(arena);
  std::thread other([&] { arena.execute([] {}); });
  homing::testing::await("another thread's entry", [&] { return observer.is_holding.load(); });
  EXPECT_TRUE(child_can([&] {
    observer.observe(false);
    observer.observe(true);
    return in_child();
  }));
  observer.go = true;
  other.join();
}

TEST(fork, an_observer_of_before_it_is_switched_off_in_the_child) {
  SKIP_UNDER_TSAN();
  tbb::task_arena arena(3);
  fork_during_a_callback(arena, [&] {
    bool good = false;
    arena.execute([&] { good = use_what_needs_no_worker(); });
    return good;
  });
}

TEST(fork, so_it_is_where_the_child_is_in_the_arena) {
  SKIP_UNDER_TSAN();
  tbb::task_arena arena(3);
  arena.execute([&] { fork_during_a_callback(arena, use_what_needs_no_worker); });
}

TEST(fork, a_flow_graph_made_before_it_goes_on_in_the_child) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  tbb::flow::graph graph;
  std::atomic<int> ran{0};
  tbb::flow::function_node<int, int> node(graph, tbb::flow::unlimited, [&](int i) {
    ++ran;
    return i;
  });
  for (const bool was_used : {false, true}) {
    EXPECT_TRUE(child_can([&] {
      ran = 0;
      for (int i = 0; i < 10; ++i) node.try_put(i);
      graph.wait_for_all();
      return ran == 10;
    })) << "used before: "
        << was_used;
    node.try_put(1);
    graph.wait_for_all();
  }
}

// The child sends a message, and may never wait: then the old arena alone knows the successor, and that one is left
// behind, too.
TEST(fork, so_it_does_in_the_childs_child) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  for (const bool waits : {false, true}) {
    std::atomic<int> ran{0};
    tbb::flow::graph graph;
    tbb::flow::function_node<int, int> node(graph, tbb::flow::unlimited, [&](int i) {
      ++ran;
      return i;
    });
    EXPECT_TRUE(child_can([&] {
      node.try_put(1);
      if (waits) graph.wait_for_all();
      homing::testing::await("a message in the child", [&] { return ran == 1; });
      const bool good = child_can([&] {
        ran = 0;
        for (int i = 0; i < 10; ++i) node.try_put(i);
        homing::testing::await("messages in the child's child", [&] { return ran == 10; });  // its workers come
        graph.wait_for_all();
        return true;
      });
      graph.wait_for_all();
      return good;
    })) << "the child waits: "
        << waits;
  }
}

/// The arena that the calling thread is in while it is in the object's.
const void* arena_inside(tbb::task_arena& object) {
  return object.execute([] { return open_arena(tbb::task_arena::attach{}).stands_for(); });
}

TEST(fork, objects_of_one_arena_of_before_it_have_one_in_the_child_which_ends) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  open_arena arena(2, 1);
  std::unique_ptr<open_arena> attached;
  arena.execute([&] { attached = std::make_unique<open_arena>(tbb::task_arena::attach{}); });
  EXPECT_TRUE(child_can([&] {
    const void* const before = arena.stands_for();
    const void* const now = arena_inside(arena);
    const bool same = now == arena_inside(*attached) && now != before;
    attached->terminate();
    arena.execute([] { tbb::parallel_for(0, 100, [](int) {}); });
    arena.terminate();
    tbb::task_scheduler_handle scheduler{tbb::attach{}};
    return same && tbb::finalize(scheduler, std::nothrow);
  }));
}

TEST(fork, threads_of_the_child_meet_in_an_arena_of_before_it_which_ends) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  constexpr unsigned objects = 200;
  constexpr unsigned users = 4;
  std::deque<open_arena> arenas;
  for (unsigned i = 0; i < objects; ++i) arenas.emplace_back(4, 4).initialize();
  EXPECT_TRUE(child_can([&] {
    std::atomic<bool> all_met{true};
    std::array<std::vector<const void*>, users> seen;
    std::atomic<unsigned> arrivals{0};
    std::vector<std::thread> threads;
    for (unsigned user = 0; user < users; ++user) {
      threads.emplace_back([&, user] {
        for (unsigned i = 0; i < objects; ++i) {
          ++arrivals;
          while (arrivals < users * (i + 1)) std::this_thread::yield();
          seen[user].push_back(arena_inside(arenas[i]));
          arenas[i].execute([&] {
            const bool is_inside = tbb::detail::r1::execution_slot(arenas[i]) < users;
            all_met = all_met && is_inside && arenas[i].max_concurrency() == 4;
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    all_met = all_met && std::all_of(seen.begin(), seen.end(), [&](const auto& s) { return s == seen[0]; });
    arenas.clear();
    tbb::task_scheduler_handle scheduler{tbb::attach{}};
    return all_met && tbb::finalize(scheduler, std::nothrow);
  }));
}

TEST(fork, an_arena_made_before_it_takes_observers_in_the_child) {
  SKIP_UNDER_TSAN();
  SKIP_UNDER_ASAN();
  tbb::task_arena arena(2, 1);
  arena.execute([] { tbb::parallel_for(0, 100, [](int) {}); });
  EXPECT_TRUE(child_can([&] {
    counting_observer observer(arena);
    arena.execute([] {});
    return observer.entries > 0;
  }));
}

}  // namespace
