// A thief's round past its victims: it ends with mail as soon as some has come, and without a task when the wait is
// over, and visits some of many, unless it is a last round. A worker of another domain has tasks in its deque; the
// round is asked for by hand.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/tasks.hpp>

#include <cstdint>
#include <functional>

#include "runtime/dispatch/dispatch.hpp"
#include "runtime/search/find_task.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/thread/thread_state.hpp"
#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using namespace homing::scheduler;
using homing::testing::await;
using homing::testing::in_own_process;

bool takes_all(const thread_state& /*t*/) noexcept { return true; }

int refusals = 0;
/// Leaves what is seen first, which is mail, and takes what comes behind it: as if the mail had come in between.
bool takes_no_mail(const thread_state& /*t*/) noexcept { return refusals++ != 0; }

search_round round_of(may_take_work* may_take, round_end end, const wait_context* wait = nullptr) {
  return {.scope = {}, .may_take = may_take, .end = end, .wait = wait};
}

/// What is found goes to the own deque, where its group's wait finds it.
enum class finding : std::uint8_t { nothing, mail, any_task };
finding found_by(const search_round& how) {
  thread_state& t = this_thread();
  const found_task found = find_task(t, how);
  if (!found) {
    return finding::nothing;
  }
  const bool has_address = task_access::address(*found.what).wished != no_affinity;
  EXPECT_TRUE(put_back(t, *found.what));
  return has_address ? finding::mail : finding::any_task;
}
bool finds(const search_round& how) { return found_by(how) != finding::nothing; }

struct scene {
  int slots = 2;
  int tasks = 1;           ///< in the victim's deque
  bool with_mail = false;  ///< for the thread that looks
  /// The thread does not look by hand, but until the arena is empty, with no time to spare; the victim is far away.
  bool until_empty = false;
};

/// f() by a thread that counts as searching, in an arena whose worker, of another domain, has tasks in its deque.
void beside_a_victim(const scene& s, const std::function<void()>& f) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  using policy = tbb::task_arena::leave_policy;
  tbb::task_arena arena(s.slots, 1, tbb::task_arena::priority::normal,
                        s.until_empty ? policy::fast : policy::automatic);
  arena.execute([&] {
    const homing::domain_index here = homing::current_domain();
    sync::atomic<bool> begun{false};
    sync::atomic<bool> searching{false};  // or nobody would be there for the mail
    sync::atomic<bool> ready{false};
    sync::atomic<bool> over{false};
    sync::atomic<int> run{0};
    sync::atomic<bool> ended{false};
    const homing::place where = s.until_empty ? homing::on(homing::domain_count() / 2) : homing::place();
    homing::enqueue(where, [&] {
      EXPECT_NE(homing::current_domain(), here);
      begun.store(true);
      await("a searcher", [&] { return searching.load(); });
      homing::task_group group;
      for (int i = 0; i < s.tasks; ++i) {
        group.run([&] { run.fetch_add(1); });
      }
      if (s.with_mail) {
        group.run(homing::on(here), [&] { run.fetch_add(1); });
      }
      ready.store(true);
      await("the end", [&] { return over.load(); });
      group.wait();
      ended.store(true);
    });
    await("a worker", [&] { return begun.load(); });
    thread_state& t = this_thread();
    if (!s.until_empty) {
      t.in->search().enter(t, {});
    }
    searching.store(true);
    await("a victim", [&] { return ready.load(); });
    f();
    if (s.until_empty) {
      EXPECT_EQ(run.load(), s.tasks);
    } else {
      t.in->search().stop_searching(t, {});
    }
    over.store(true);
    await("the victim's end", [&] { return ended.load(); });
    EXPECT_EQ(run.load(), s.tasks + (s.with_mail ? 1 : 0));
  });
}

TEST(search_news, a_round_ends_when_the_wait_is_over) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim({}, [] {
      wait_context wait(1);
      wait.release();
      EXPECT_FALSE(finds(round_of(takes_all, round_end::at_news, &wait)));
      EXPECT_TRUE(finds(round_of(takes_all, round_end::whole, &wait))) << "a last round";
    });
    beside_a_victim({}, [] {
      wait_context wait(1);
      EXPECT_TRUE(finds(round_of(takes_all, round_end::at_news, &wait))) << "the wait goes on";
      wait.release();
    });
  });
}

TEST(search_news, a_round_ends_with_the_mail_that_has_come) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim({.with_mail = true}, [] {
      refusals = 0;
      EXPECT_EQ(found_by(round_of(takes_no_mail, round_end::at_news)), finding::mail);
      EXPECT_EQ(refusals, 2) << "the mail was asked for twice, and no victim";
    });
    beside_a_victim({.with_mail = true}, [] {
      refusals = 0;
      EXPECT_EQ(found_by(round_of(takes_no_mail, round_end::whole)), finding::any_task) << "a last round";
    });
    beside_a_victim({.with_mail = true}, [] {
      wait_context wait(1);
      wait.release();
      refusals = 0;
      EXPECT_EQ(found_by(round_of(takes_no_mail, round_end::at_news, &wait)), finding::nothing) << "the wait is over";
    });
  });
}

TEST(search_news, a_round_visits_some_of_many_domains_and_the_next_ones_the_others) {
  in_own_process({{"HOMING_TOPOLOGY", "node:8 core:8 pu:1"}}, [] {
    beside_a_victim({.slots = 64, .tasks = 14}, [] {
      search_round how = round_of(takes_all, round_end::at_news);
      int found = 0;
      for (how.number = 0; how.number < 7; ++how.number) {
        found += finds(how) ? 1 : 0;
      }
      EXPECT_EQ(found, 2) << "16 victims a round are two of the seven other domains";
      how.end = round_end::whole;
      for (how.number = 0; how.number < 7; ++how.number) {
        EXPECT_TRUE(finds(how)) << "a last round, number " << how.number;
      }
    });
  });
}

/// With 31 other domains and two a round, the few rounds of a thread that leaves fast do not come to all.
TEST(search_news, nobody_leaves_before_a_look_at_all_victims) {
  in_own_process({{"HOMING_TOPOLOGY", "node:32 core:8 pu:1"}}, [] {
    for (int round = 0; round < 20; ++round) {
      beside_a_victim({.slots = 256, .tasks = 14, .until_empty = true},
                      [] { work_until_empty(this_thread(), *this_thread().in); });
    }
  });
}

TEST(search_news, a_round_visits_all_victims_of_a_small_machine) {
  in_own_process({{"HOMING_TOPOLOGY", "node:8 core:2 pu:1"}}, [] {
    beside_a_victim({.slots = 16, .tasks = 8}, [] {
      search_round how = round_of(takes_all, round_end::at_news);
      for (how.number = 0; how.number < 7; ++how.number) {
        EXPECT_TRUE(finds(how)) << how.number;
      }
    });
  });
}

}  // namespace
