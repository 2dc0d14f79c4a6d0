// Whom a thief robs, by HOMING_STEAL or an arena's own policy: one worker in each domain; all but one have a task to be
// stolen and are busy, and the last one looks for work. Made-up machines, each test in a process of its own.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <homing/steal_policy.hpp>
#include <homing/tasks.hpp>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/thread/thread_state.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/held_threads.hpp"
#include "unit/common/litmus.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/topology_fixture.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

namespace sync = homing::sync;
using homing::scheduler::resource_manager;
using homing::testing::await;
using domains = std::vector<unsigned>;

unsigned domain_here() { return to_index(homing::scheduler::this_thread().domain); }

/// The domains of the victims, in the order in which a thief of domain `thief` came to them; of tasks that their own
/// workers ran in the end, nothing.
class stealing {
 public:
  explicit stealing(unsigned thief, std::optional<homing::steal_policy> policy = {}) : thief_(thief), policy_(policy) {}

  domains run() {
    workers_ = static_cast<int>(resource_manager::current().domain_count());
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(workers_) + 1);
    tbb::task_arena arena(workers_, 0);
    if (policy_) {
      homing::initialize(arena, *policy_);
    }
    for (int i = 0; i < workers_; ++i) {
      arena.enqueue([this] { take_part(); });
    }
    await("the thief's end of work",
          [this] { return ended() || (victims_ready_.load() == workers_ - 1 && homing::testing::workers_rest(1)); });
    over_.store(true);
    await("the victims' end", [this] { return victims_done_.load() == workers_ - 1; });
    return victims_;
  }

 private:
  bool ended() {
    const std::lock_guard hold(lock_);
    return static_cast<int>(victims_.size()) == workers_ - 1;
  }
  void take_part() {
    here_.fetch_add(1);
    await("one worker of each domain", [this] { return here_.load() == workers_; });
    const unsigned mine = domain_here();
    if (mine == thief_) {
      await("tasks to steal", [this] { return victims_ready_.load() == workers_ - 1; });
      return;  // and looks for work
    }
    tbb::task_group group;
    group.run([this, mine] {
      if (domain_here() != mine) {
        EXPECT_EQ(domain_here(), thief_);
        const std::lock_guard hold(lock_);
        victims_.push_back(mine);
      }
    });
    victims_ready_.fetch_add(1);
    await("the end", [this] { return over_.load(); });
    group.wait();
    victims_done_.fetch_add(1);
  }

  const unsigned thief_;
  const std::optional<homing::steal_policy> policy_;
  int workers_ = 0;
  sync::atomic<int> here_{0};
  sync::atomic<int> victims_ready_{0};
  sync::atomic<int> victims_done_{0};
  sync::atomic<bool> over_{false};
  std::mutex lock_;
  domains victims_;
};

/// All others, as the machine has them from near to far.
domains from_near_to_far(unsigned thief) {
  domains result;
  for (const auto d : homing::topology::current().nearest_first(static_cast<homing::topology::domain_index>(thief))) {
    if (static_cast<unsigned>(d) != thief) {
      result.push_back(static_cast<unsigned>(d));
    }
  }
  return result;
}

using homing::testing::in_own_process;
using homing::topology::testing::fixture_path;

constexpr const char* four_nodes = "node:4 core:1 pu:1";

TEST(steal, near_goes_outwards_from_every_domain) {
  const auto report = in_own_process({{"HOMING_TOPOLOGY", four_nodes}, {"HOMING_STEAL", "near"}}, [] {
    for (unsigned thief = 0; thief < 4; ++thief) {
      EXPECT_EQ(stealing(thief).run(), from_near_to_far(thief)) << "a thief of domain " << thief;
    }
  });
  EXPECT_EQ(report.number("far"), 12U);
  EXPECT_EQ(report.number("near"), 0U);
}

/// Domain 1 is at 30 from domain 0 and at 15 from 2; 2 at 20 from 0 and at 15 from 1; 0 at 20 from both, so that the
/// next higher index decides.
TEST(steal, near_obeys_distances_that_differ_by_direction) {
  in_own_process({{"HOMING_TOPOLOGY", fixture_path("memory_less")}}, [] {
    EXPECT_EQ(stealing(0).run(), (domains{1, 2}));
    EXPECT_EQ(stealing(1).run(), (domains{2, 0}));
    EXPECT_EQ(stealing(2).run(), (domains{1, 0}));
  });
}

TEST(steal, domain_stays_at_home) {
  const auto report = in_own_process({{"HOMING_TOPOLOGY", four_nodes}, {"HOMING_STEAL", "domain"}}, [] {
    for (unsigned thief = 0; thief < 4; ++thief) {
      EXPECT_EQ(stealing(thief).run(), domains{}) << "a thief of domain " << thief;
    }
  });
  EXPECT_EQ(report.number("far"), 0U);
}

TEST(steal, an_arena_has_its_own_policy) {
  const auto report = in_own_process({{"HOMING_TOPOLOGY", four_nodes}}, [] {
    for (unsigned thief = 0; thief < 4; ++thief) {
      EXPECT_EQ(stealing(thief, homing::steal_policy::domain).run(), domains{}) << "a thief of domain " << thief;
      EXPECT_EQ(stealing(thief).run(), from_near_to_far(thief)) << "a thief of domain " << thief;
    }
  });
  EXPECT_EQ(report.number("far"), 12U);
}

TEST(steal, an_arena_goes_further_than_the_others) {
  in_own_process({{"HOMING_TOPOLOGY", four_nodes}, {"HOMING_STEAL", "domain"}}, [] {
    EXPECT_EQ(stealing(1, homing::steal_policy::near).run(), from_near_to_far(1));
    EXPECT_EQ(stealing(1).run(), domains{});
  });
}

TEST(steal, a_policy_after_the_first_use_is_refused) {
  EXPECT_DEATH(
      {
        tbb::task_arena arena;
        arena.initialize();
        homing::initialize(arena, homing::steal_policy::domain);
      },
      "after the arena's first use: call it before");
}

/// Threads of the other domain look for work and are of no use: one of this domain must be woken.
TEST(steal, where_thieves_stay_a_push_wakes_its_own_domain) {
  const auto report = in_own_process({{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}}, [] {
    constexpr int threads = 5;
    constexpr unsigned rounds = 20'000;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(threads, 1);
    homing::initialize(arena, homing::steal_policy::domain);
    sync::atomic<unsigned> enqueued{0};
    sync::atomic<unsigned> ran{0};
    unsigned strangers = 0;
    arena.execute([&] {
      tbb::task_group group;
      for (unsigned round = 1; round <= rounds && !testing::Test::HasFailure(); ++round) {
        const unsigned here = domain_here();
        if (round % 3 != 0) {
          homing::enqueue(arena, homing::on(1 - here), [&] { enqueued.fetch_add(1); });
        }
        group.run([&, here, round] {
          strangers += domain_here() != here ? 1U : 0U;
          ran.store(round);
        });
        await("a thread of the domain", [&] { return ran.load() == round; });
        homing::testing::dawdle(round * 2654435761U % 8000);
      }
      group.wait();
    });
    EXPECT_EQ(strangers, 0U);
    await("the enqueued tasks", [&] { return enqueued.load() == rounds - rounds / 3; });
  });
  EXPECT_EQ(report.number("far"), 0U);
}

/// The second push relies on the worker that the first has called. That one takes the first task, which waits for the
/// second one, and must hand the duty on, although threads of the other domain look for work.
TEST(steal, where_thieves_stay_the_last_searcher_of_a_domain_hands_on) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:3 pu:1"}}, [] {
    constexpr int threads = 6;
    constexpr unsigned rounds = 5'000;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(threads, 1);
    homing::initialize(arena, homing::steal_policy::domain);
    sync::atomic<unsigned> ran{0};
    sync::atomic<unsigned> elsewhere{0};
    arena.execute([&] {
      const unsigned here = domain_here();
      tbb::task_group group;
      for (unsigned round = 1; round <= rounds && !testing::Test::HasFailure(); ++round) {
        homing::enqueue(arena, homing::on(1 - here), [&] { elsewhere.fetch_add(1); });
        group.run([&, round] { await("the second task", [&] { return ran.load() >= round; }); });
        homing::testing::dawdle(round * 2654435761U % 4000);
        group.run([&, round] { ran.store(round); });
        await("a second thread of the domain", [&] { return ran.load() == round; });
        group.wait();
      }
    });
    await("the enqueued tasks", [&] { return elsewhere.load() == rounds; });
  });
}

/// A thread that leaves its tasks behind leaves them to all: here no other is of its domain.
TEST(steal, where_thieves_stay_what_a_thread_has_left_is_for_all) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    constexpr unsigned rounds = 5'000;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
    for (unsigned round = 1; round <= rounds && !testing::Test::HasFailure(); ++round) {
      tbb::task_arena arena(3, 1);
      homing::initialize(arena, homing::steal_policy::domain);
      tbb::task_group group;
      sync::atomic<bool> ran{false};
      arena.execute([&] { group.run([&] { ran.store(true); }); });
      await("a task whose thread has left the arena", [&] { return ran.load(); });
      arena.execute([&] { group.wait(); });
    }
  });
}

/// A task with an address waits for its home's worker, who is busy: an idle thread of another domain leaves it alone.
TEST(steal, where_thieves_stay_an_addressed_task_waits_for_its_home) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}}, [] {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 3);  // and so a worker in each domain
    tbb::task_arena arena(3, 1);
    homing::initialize(arena, homing::steal_policy::domain);
    arena.execute([&] {
      const unsigned here = domain_here();
      for (int round = 0; round < 100 && !testing::Test::HasFailure(); ++round) {
        sync::atomic<bool> is_held{false};
        sync::atomic<bool> may_go{false};
        sync::atomic<bool> near_ran{false};
        sync::atomic<unsigned> ran_in{~0U};
        tbb::task_group held;
        homing::task_group group;
        homing::enqueue(arena, homing::on(1 - here), [&] {
          is_held.store(true);
          await("the end of the hold", [&] { return may_go.load(); });
        });
        await("the other domain's worker", [&] { return is_held.load(); });
        group.run(homing::on(1 - here), [&] { ran_in.store(domain_here()); });
        held.run([&] { near_ran.store(true); });
        await("this domain's worker", [&] { return near_ran.load(); });
        await("its end of work", [] { return homing::testing::workers_rest(1); });
        EXPECT_EQ(ran_in.load(), ~0U);
        may_go.store(true);
        await("the other domain's worker again", [&] { return ran_in.load() != ~0U; });
        EXPECT_EQ(ran_in.load(), 1 - here);
        group.wait();
        held.wait();
      }
    });
  });
}

/// Nobody of its home is here or expected: where thieves stay, it must be in the mailbox all the same, for nobody who
/// comes could take it from its maker.
TEST(steal, where_thieves_stay_an_addressed_task_is_posted_to_an_empty_domain) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}}, [] {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
    sync::atomic<unsigned> home{~0U};
    tbb::task_arena other(1, 0);
    other.enqueue([&] { home.store(domain_here()); });
    await("the only worker", [&] { return home.load() != ~0U; });
    bool done = false;
    for (int thread = 0; thread < 8 && !done; ++thread) {
      std::jthread([&] {
        if (domain_here() == home.load()) {
          return;  // each new thread is of the next domain
        }
        done = true;
        tbb::task_arena arena(3, 1);
        homing::initialize(arena, homing::steal_policy::domain);
        for (int round = 0; round < 100 && !testing::Test::HasFailure(); ++round) {
          arena.execute([&] {
            homing::testing::gathering elsewhere(other, 1);
            tbb::task_group before;
            homing::task_group group;
            sync::atomic<unsigned> ran_in{~0U};
            before.run([] {});  // the arena wants workers from here on
            group.run(homing::on(home.load()), [&] { ran_in.store(domain_here()); });
            elsewhere.let_go();
            await("the only worker's coming", [&] { return ran_in.load() != ~0U; });
            EXPECT_EQ(ran_in.load(), home.load());
            group.wait();
            before.wait();
          });
        }
      }).join();
    }
    EXPECT_TRUE(done);
  });
}

/// Each of three must be the first one once: a thousand thieves who choose at random do not miss one.
TEST(steal, random_has_no_favourite) {
  in_own_process({{"HOMING_TOPOLOGY", four_nodes}, {"HOMING_STEAL", "random"}}, [] {
    bool first_was[4] = {};
    for (int i = 0; i < 1000 && !(first_was[1] && first_was[2] && first_was[3]); ++i) {
      const domains victims = stealing(0).run();
      ASSERT_EQ(victims.size(), 3U);
      first_was[victims.front()] = true;
    }
    EXPECT_TRUE(first_was[1] && first_was[2] && first_was[3]);
  });
}

/// Another domain's two threads have a task each, and a thief comes: the slot of the one that it came to first.
class far_pair {
 public:
  int run() {
    constexpr int workers = 4;
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers + 1);
    tbb::task_arena arena(workers, 0);
    for (int i = 0; i < workers; ++i) {
      arena.enqueue([this] { take_part(); });
    }
    await("the end of all", [this] { return gone_.load() == workers; });
    return first_.load();
  }

 private:
  static constexpr unsigned victims_domain = 0;
  void take_part() {
    here_.fetch_add(1);
    await("two workers of each domain", [this] { return here_.load() == 4; });
    if (domain_here() == victims_domain) {
      be_a_victim();
    } else if (thieves_.fetch_add(1) == 0) {
      await("tasks to steal", [this] { return ready_.load() == 2; });  // and looks for work
    } else {
      await("a theft", [this] { return first_.load() != nobody; });
    }
    gone_.fetch_add(1);
  }
  void be_a_victim() {
    const int mine = tbb::this_task_arena::current_thread_index();
    tbb::task_group group;
    group.run([this, mine] {
      int none = nobody;
      first_.compare_exchange_strong(none, mine);
    });
    ready_.fetch_add(1);
    await("a theft", [this] { return first_.load() != nobody; });
    group.wait();
  }

  static constexpr int nobody = -1;
  sync::atomic<int> here_{0};
  sync::atomic<int> ready_{0};
  sync::atomic<int> thieves_{0};
  sync::atomic<int> gone_{0};
  sync::atomic<int> first_{nobody};
};

/// Each of the two must be the first one once. A favourite would keep what lies in the other's deque from all thieves.
TEST(steal, near_has_no_favourite_of_two_in_another_domain) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:2 pu:1"}, {"HOMING_STEAL", "near"}}, [] {
    bool first_was[4] = {};
    const auto both = [&] { return std::count(std::begin(first_was), std::end(first_was), true) == 2; };
    for (int i = 0; i < 1000 && !both(); ++i) {
      const int first = far_pair().run();
      ASSERT_TRUE(first >= 0 && first < 4);
      first_was[first] = true;
    }
    EXPECT_TRUE(both());
  });
}

}  // namespace
