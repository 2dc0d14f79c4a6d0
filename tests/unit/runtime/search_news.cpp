// A thief's round past its victims: it ends as soon as mail has come or the wait is over, unless it is a last round. A
// worker of another domain has a task in its deque; the round is asked for by hand.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/tasks.hpp>

#include <functional>

#include "runtime/search/find_task.hpp"
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
bool finds(const search_round& how) {
  thread_state& t = this_thread();
  const found_task found = find_task(t, how);
  return found && put_back(t, *found.what);
}

/// f() by a thread that counts as searching, in an arena whose worker, of the other domain, has a task in its deque;
/// with mail for this thread, if that is asked for.
void beside_a_victim(bool with_mail, const std::function<void()>& f) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(2, 1);
  arena.execute([&] {
    const homing::domain_index here = homing::current_domain();
    sync::atomic<bool> begun{false};
    sync::atomic<bool> searching{false};  // or nobody would be there for the mail
    sync::atomic<bool> ready{false};
    sync::atomic<bool> over{false};
    sync::atomic<int> run{0};
    sync::atomic<bool> ended{false};
    tbb::this_task_arena::enqueue([&] {
      EXPECT_NE(homing::current_domain(), here);
      begun.store(true);
      await("a searcher", [&] { return searching.load(); });
      homing::task_group group;
      group.run([&] { run.fetch_add(1); });
      if (with_mail) {
        group.run(homing::on(here), [&] { run.fetch_add(1); });
      }
      ready.store(true);
      await("the end", [&] { return over.load(); });
      group.wait();
      ended.store(true);
    });
    await("a worker", [&] { return begun.load(); });
    thread_state& t = this_thread();
    t.in->search().enter(t, {});
    searching.store(true);
    await("a victim", [&] { return ready.load(); });
    f();
    t.in->search().stop_searching(t, {});
    over.store(true);
    await("the victim's end", [&] { return ended.load(); });
    EXPECT_EQ(run.load(), with_mail ? 2 : 1);
  });
}

TEST(search_news, a_round_ends_when_the_wait_is_over) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim(false, [] {
      wait_context wait(1);
      wait.release();
      EXPECT_FALSE(finds(round_of(takes_all, round_end::at_news, &wait)));
      EXPECT_TRUE(finds(round_of(takes_all, round_end::whole, &wait))) << "a last round";
    });
    beside_a_victim(false, [] {
      wait_context wait(1);
      EXPECT_TRUE(finds(round_of(takes_all, round_end::at_news, &wait))) << "the wait goes on";
      wait.release();
    });
  });
}

TEST(search_news, a_round_ends_when_mail_has_come) {
  in_own_process({{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}}, [] {
    beside_a_victim(true, [] {
      refusals = 0;
      EXPECT_FALSE(finds(round_of(takes_no_mail, round_end::at_news)));
      EXPECT_EQ(refusals, 1) << "the mail was seen, and no victim asked";
      refusals = 0;
      EXPECT_TRUE(finds(round_of(takes_no_mail, round_end::whole))) << "a last round";
    });
  });
}

}  // namespace
