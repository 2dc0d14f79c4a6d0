// A thief's round past its victims: it ends with mail as soon as some has come, and without a task when the wait is
// over, and visits some of many, unless it is a last round. Where the thread must leave something to others, it leaves
// all that it sees later. A worker of another domain has tasks in its deque; the round is asked for by hand.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/tasks.hpp>

#include <cstdint>
#include <functional>

#include "runtime/dispatch/dispatch.hpp"
#include "runtime/search/find_task.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/search/stealing.hpp"
#include "runtime/thread/thread_state.hpp"
#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using namespace homing::scheduler;
using homing::testing::await;
using homing::testing::in_own_process;

bool takes_all(const thread_state& /*t*/) noexcept { return true; }

int questions = 0;
/// Must leave what it sees first, and may take what comes behind it: another thread has left the arena meanwhile.
bool takes_all_but_the_first(const thread_state& /*t*/) noexcept { return questions++ != 0; }

sync::atomic<bool> sees_task{false};
sync::atomic<bool> mail_has_come{false};
/// When the thief comes to take it the victim's task is gone, and there is mail.
bool takes_what_is_gone(const thread_state& /*t*/) noexcept {
  sees_task.store(true);
  await("mail", [] { return mail_has_come.load(); });
  return true;
}

/// A look's round.
struct round_of {
  explicit round_of(may_take_work* asked, round_end end, const wait_context* wait = nullptr)
      : may_take(asked), how{.scope = {}, .may_take = may_take, .end = end, .wait = wait} {}
  take_permission may_take;
  search_round how;
};

/// What is found goes to the own deque, where its group's wait finds it.
enum class finding : std::uint8_t { nothing, mail, any_task };
finding kept(task* found) {
  if (found == nullptr) {
    return finding::nothing;
  }
  const bool has_address = task_access::address(*found).wished != no_affinity;
  keep_as_spawned(this_thread(), *found);
  return has_address ? finding::mail : finding::any_task;
}
finding found_by(const round_of& round) { return kept(find_task(this_thread(), round.how).what); }
bool finds(const round_of& round) { return found_by(round) != finding::nothing; }
finding found_at_victims(const round_of& round) { return kept(steal(this_thread(), round.how)); }

struct scene {
  int slots = 2;
  int tasks = 1;                  ///< in the victim's deque
  bool with_mail = false;         ///< for the thread that looks
  bool mail_comes_later = false;  ///< once the thread sees the victim's tasks, which are gone then
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
      const auto send_mail = [&] { group.run(homing::on(here), [&] { run.fetch_add(1); }); };
      for (int i = 0; i < s.tasks; ++i) {
        group.run([&] {
          run.fetch_add(1);
          if (s.mail_comes_later) {  // from here: the task's memory is in use, and the mail has other
            send_mail();
            mail_has_come.store(true);
            await("the end", [&] { return over.load(); });
          }
        });
      }
      if (s.with_mail) {
        send_mail();
      }
      ready.store(true);
      if (s.mail_comes_later) {
        await("a thief", [] { return sees_task.load(); });
        group.wait();
      }
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
    EXPECT_EQ(run.load(), s.tasks + (s.with_mail || s.mail_comes_later ? 1 : 0));
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

TEST(search_news, a_round_ends_where_mail_has_come) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim({.with_mail = true}, [] {
      EXPECT_EQ(found_at_victims(round_of(takes_all, round_end::at_news)), finding::nothing);
      EXPECT_EQ(found_at_victims(round_of(takes_all, round_end::whole)), finding::any_task) << "a last round";
    });
  });
}

TEST(search_news, mail_that_comes_during_a_look_is_found_by_it) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim({.mail_comes_later = true},
                    [] { EXPECT_EQ(found_by(round_of(takes_what_is_gone, round_end::whole)), finding::mail); });
    sees_task.store(false);
    mail_has_come.store(false);
    beside_a_victim({.mail_comes_later = true}, [] {
      wait_context wait(1);
      wait.release();
      EXPECT_EQ(found_by(round_of(takes_what_is_gone, round_end::whole, &wait)), finding::nothing)
          << "the wait is over";
    });
  });
}

/// [A12] What comes behind is to be run later.
TEST(search_news, what_must_be_left_to_others_ends_what_a_look_takes) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim({.tasks = 2}, [] {
      questions = 0;
      EXPECT_EQ(found_by(round_of(takes_all_but_the_first, round_end::whole)), finding::nothing);
      EXPECT_EQ(questions, 1);
      EXPECT_EQ(found_by(round_of(takes_all_but_the_first, round_end::whole)), finding::any_task) << "the next look";
    });
    beside_a_victim({.with_mail = true}, [] {
      questions = 0;
      EXPECT_EQ(found_by(round_of(takes_all_but_the_first, round_end::whole)), finding::nothing)
          << "the mail is left, and so is the victim's task";
    });
  });
}

TEST(search_news, a_round_visits_some_of_many_domains_and_the_next_ones_the_others) {
  in_own_process({{"HOMING_TOPOLOGY", "node:8 core:8 pu:1"}}, [] {
    beside_a_victim({.slots = 64, .tasks = 14}, [] {
      round_of round(takes_all, round_end::at_news);
      unsigned& number = round.how.number;
      int found = 0;
      for (number = 0; number < 7; ++number) {
        found += finds(round) ? 1 : 0;
      }
      EXPECT_EQ(found, 2) << "16 victims a round are two of the seven other domains";
      round.how.end = round_end::whole;
      for (number = 0; number < 7; ++number) {
        EXPECT_TRUE(finds(round)) << "a last round, number " << number;
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
      round_of round(takes_all, round_end::at_news);
      for (round.how.number = 0; round.how.number < 7; ++round.how.number) {
        EXPECT_TRUE(finds(round)) << round.how.number;
      }
    });
  });
}

}  // namespace
