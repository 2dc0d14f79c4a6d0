// The bypass pathology of TBB-NUMA 5.3: a task whose home's threads have been taken away waits although a thread looks
// for work, with upstream's rule of when a mailbox is idle, and does not with ours. Nothing is timed: the idle thread
// runs other tasks of the same deque, one after the other, past the one that waits. In the end its creator revokes it.
#include <gtest/gtest.h>
#include <homing/tasks.hpp>

#include <array>
#include <cstdint>
#include <thread>

#include "runtime/dispatch/bind_context.hpp"
#include "runtime/search/own_tasks.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::domain_index;
using homing::scheduler::arena_access;
using homing::testing::await;
using homing::testing::environment;
using homing::testing::in_own_process;
using homing::testing::threads;

constexpr unsigned others = 200;  ///< tasks that the idle thread runs meanwhile

environment two_domains(const char* rule) {
  return {{"HOMING_TOPOLOGY", "node:2 core:1 pu:1"}, {"HOMING_MAILBOX_IDLE", rule}};
}

/// What is seen of the task that is sent to domain 1.
struct outcome {
  bool ran_at_once = false;  ///< before its creator looked for work itself
  unsigned ran_in = ~0U;
  bool by_its_creator = false;
};

/// An application thread in domain 0 and a worker in each domain. The thread sends a task to domain 1, whose worker
/// goes to another arena before it can take it; then the worker of domain 0 is free.
class contended {
 public:
  /// The same, but domain 1's worker stays where it is, and is busy.
  outcome run_beside_busy() {
    const auto limit = threads(3);
    tbb::task_arena arena(3, 1U);
    arena.execute([&] {
      homing::task_group group;
      for (int i = 0; i < 2; ++i) {
        group.run([&] { hold(holds_[to_index(homing::current_domain())]); });
      }
      await("both workers", [&] { return holds_[0].held() && holds_[1].held(); });
      group.run(homing::on(1U), [&] {
        result_.ran_in = to_index(homing::current_domain());
        ran_.store(true, sync::release);
      });
      holds_[0].end();
      await("the task, by the thread that idles", [&] { return ran_.load(sync::acquire); });
      holds_[1].end();
      static_cast<void>(group.wait());
    });
    return result_;
  }
  outcome run(bool wait_for_task) {
    const auto limit = threads(3);
    tbb::task_arena arena(3, 1U);
    tbb::task_arena contender(homing::testing::on_node(1).set_max_concurrency(1), 0U, tbb::task_arena::priority::high);
    arena.execute([&] {
      homing::task_group group;
      EXPECT_EQ(to_index(homing::current_domain()), 0U);
      for (int i = 0; i < 2; ++i) {
        group.run([&] { hold(holds_[to_index(homing::current_domain())]); });
      }
      await("both workers", [&] { return holds_[0].held() && holds_[1].held(); });

      const auto creator = std::this_thread::get_id();
      group.run(homing::on(1U), [&] {
        result_.ran_in = to_index(homing::current_domain());
        result_.by_its_creator = std::this_thread::get_id() == creator;
        ran_.store(true, sync::release);
      });

      contender.enqueue([&] { hold(contenders_); });
      homing::scheduler::arena& inside = *arena_access::arena_of(arena);
      await("the loss of domain 1's worker",
            [&] { return inside.domain(domain_index{1}).allotted.load(sync::relaxed) == 0; });
      holds_[1].end();
      await("the contender's worker", [&] { return contenders_.held(); });
      holds_[0].end();

      if (wait_for_task) {
        await("the task, by the thread that idles", [&] { return ran_.load(sync::acquire); });
      } else {
        for (unsigned i = 0; i < others; ++i) {
          sync::atomic<bool> other_ran{false};
          group.run([&] { other_ran.store(true, sync::release); });
          await("another task, by the thread that idles", [&] { return other_ran.load(sync::acquire); });
        }
      }
      result_.ran_at_once = ran_.load(sync::acquire);
      static_cast<void>(group.wait());
    });
    EXPECT_TRUE(ran_.load(sync::acquire));
    contenders_.end();
    return result_;
  }

 private:
  class gate {
   public:
    void come() { held_.store(true, sync::release); }
    [[nodiscard]] bool held() const { return held_.load(sync::acquire); }
    void end() { over_.store(true, sync::release); }
    [[nodiscard]] bool is_over() const { return over_.load(sync::acquire); }

   private:
    sync::atomic<bool> held_{false};
    sync::atomic<bool> over_{false};
  };
  static void hold(gate& at) {
    at.come();
    await("a gate's end", [&] { return at.is_over(); });
  }

  std::array<gate, 2> holds_;
  gate contenders_;
  sync::atomic<bool> ran_{false};
  outcome result_;
};

TEST(mailbox_idle, upstreams_rule_leaves_a_task_to_threads_that_have_gone) {
  const auto report = in_own_process(two_domains("tbb"), [] {
    const outcome seen = contended().run(false);
    EXPECT_FALSE(seen.ran_at_once) << "a thread ran " << others << " other tasks past it";
    EXPECT_TRUE(seen.by_its_creator);
  });
  EXPECT_GE(report.number("bypasses"), others) << "the task was passed by each time";
  EXPECT_EQ(report.number("revokes"), 1U);
}

TEST(mailbox_idle, ours_gives_it_to_the_thread_that_idles) {
  const auto report = in_own_process(two_domains("homing"), [] {
    const outcome seen = contended().run(true);
    EXPECT_TRUE(seen.ran_at_once);
    EXPECT_EQ(seen.ran_in, 0U);
    EXPECT_FALSE(seen.by_its_creator);
  });
  EXPECT_EQ(report.number("bypasses"), 0U);
  EXPECT_EQ(report.number("revokes"), 0U);
}

TEST(mailbox_idle, figure_9s_gives_it_to_the_thread_that_idles) {
  const auto report = in_own_process(two_domains("paper"), [] {
    EXPECT_EQ(homing::scheduler::resource_manager::current().settings().mailbox_idle,
              homing::scheduler::idle_rule::paper);
    const outcome seen = contended().run(true);  // nobody is allotted to its home, and nobody searches there
    EXPECT_TRUE(seen.ran_at_once);
    EXPECT_EQ(seen.ran_in, 0U);
    EXPECT_FALSE(seen.by_its_creator);
  });
  EXPECT_EQ(report.number("revokes"), 0U);
}

// All who are allotted to the task's home are there, and none of them searches: figure 9 knows no reason to leave it.
TEST(mailbox_idle, figure_9s_has_no_patience_with_threads_that_are_busy) {
  const auto report = in_own_process(two_domains("paper"), [] { EXPECT_EQ(contended().run_beside_busy().ran_in, 0U); });
  EXPECT_EQ(report.number("bypasses"), 0U);
}

TEST(mailbox_idle, ours_has_some_patience_with_threads_that_are_busy) {
  const auto report =
      in_own_process(two_domains("homing"), [] { EXPECT_EQ(contended().run_beside_busy().ran_in, 0U); });
  EXPECT_GE(report.number("bypasses"), 1U) << "ours first looks for what belongs to its own domain";
}

TEST(mailbox_idle, a_wrong_rule_is_said_and_replaced) {
  in_own_process(two_domains("TBB"), [] {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(homing::scheduler::resource_manager::current().settings().mailbox_idle,
              homing::scheduler::idle_rule::homing);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "homing: HOMING_MAILBOX_IDLE=TBB is not valid: expected tbb, homing or paper; using homing\n");
  });
}

/// A task for a slot, and who ran it.
class task_for_slot final : public tbb::detail::d1::task {
 public:
  tbb::detail::d1::task* execute(tbb::detail::d1::execution_data& /*ed*/) override {
    ran_by_.store(&homing::scheduler::this_thread(), sync::release);
    return nullptr;
  }
  tbb::detail::d1::task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }
  [[nodiscard]] const homing::scheduler::thread_state* ran_by() const { return ran_by_.load(sync::acquire); }

 private:
  sync::atomic<const homing::scheduler::thread_state*> ran_by_{nullptr};
};

/// The application's thread is of domain 1, in slot 0, whose home is domain 0. A worker of domain 0 has a task for that
/// slot in its deque; one of domain 1 looks for work, and finds no other.
class slot_of_another_domain {
 public:
  void run() {
    const auto limit = threads(4);
    tbb::task_arena arena(4, 1U);
    arena.execute([&] {
      tbb::task_group group;
      group.run_and_wait([] {});  // the first wait: from here on the thread has its domain
      EXPECT_EQ(to_index(homing::current_domain()), 1U);
      for (int i = 0; i < 3; ++i) {
        arena.enqueue([this] {
          come(homing::scheduler::this_thread());
          gone_.fetch_add(1, sync::acq_rel);
        });
      }
      await("the end of all", [&] { return gone_.load(sync::acquire) == 3; });
    });
  }

 private:
  void come(homing::scheduler::thread_state& me) {
    const bool is_thief = to_index(me.domain) == 1;
    if (is_thief) thief_.store(&me, sync::release);
    come_.fetch_add(1, sync::acq_rel);
    await("three workers", [&] { return come_.load(sync::acquire) == 3; });
    if (is_thief) return;
    if (posters_.fetch_add(1, sync::acq_rel) == 0) {
      post(me.in->slot(homing::scheduler::slot_id{0}).searching);
      over_.store(true, sync::release);
    }
    await("the end", [&] { return over_.load(sync::acquire); });
  }

  /// `addressee`: the flag of a thread that does something else meanwhile, so that it does not fetch its mail.
  void post(homing::scheduler::search_flag& addressee) {
    constexpr std::uint64_t looks = 200;  // many more than a thief has patience for
    homing::scheduler::thread_state* const thief = thief_.load(sync::acquire);
    ASSERT_NE(thief, nullptr) << "a worker of domain 1";
    const auto passed_by = [&] { return thief->counters.read(homing::observe::event::bypass); };
    const std::uint64_t before = passed_by();
    tbb::task_group_context context;
    addressee.set();
    tbb::detail::d1::spawn(task_, context, tbb::detail::d1::slot_id{0});
    await("the thief's looks", [&] { return task_.ran_by() != nullptr || passed_by() - before >= looks; });
    EXPECT_EQ(task_.ran_by(), nullptr) << "while the thread of its slot looks for work";
    addressee.clear();
    await("the task", [&] { return task_.ran_by() != nullptr; });
    EXPECT_EQ(task_.ran_by(), thief);
  }

  sync::atomic<int> come_{0};
  sync::atomic<int> gone_{0};  ///< nobody touches this object any more
  sync::atomic<int> posters_{0};
  sync::atomic<bool> over_{false};
  sync::atomic<homing::scheduler::thread_state*> thief_{nullptr};
  task_for_slot task_;
};

TEST(mailbox_idle, a_slots_task_is_left_to_its_searching_thread_of_whatever_domain) {
  in_own_process(two_domains("homing"), [] {
    EXPECT_EQ(to_index(homing::scheduler::this_thread().domain), 0U);
    EXPECT_EQ(homing::scheduler::resource_manager::current().domain_count(), 2U);
    std::jthread([] { slot_of_another_domain().run(); });
  });
}

/// The application's thread is of domain 1, in slot 0, whose home is domain 0, and looks for work. A worker has a task
/// for that slot in its deque, and the mail is hidden: behind a poster that has stopped between its claim and its fill.
/// Threads of domain 0 look for work, too, as far as anybody can see, and would leave that task to the slot's thread.
class hidden_mail {
 public:
  void run() {
    const auto limit = threads(2);
    tbb::task_arena arena(2, 1U);
    arena.execute([&] {
      tbb::task_group group;
      group.run_and_wait([] {});  // the first wait: from here on the thread has its domain
      addressee_ = &homing::scheduler::this_thread();
      EXPECT_EQ(to_index(addressee_->domain), 1U);
      EXPECT_EQ(to_index(addressee_->slot_number), 0U);
      EXPECT_EQ(to_index(addressee_->slot->home), 0U);
      group.run([this] { post_hidden(homing::scheduler::this_thread()); });
      await("the task in a deque", [&] { return posted_.load(sync::acquire); });
      group.wait();
    });
  }

 private:
  void post_hidden(homing::scheduler::thread_state& me) {
    const domain_index home{0};
    homing::scheduler::arena& a = *me.in;
    const auto passed_by = [&] { return addressee_->counters.read(homing::observe::event::bypass) != 0; };
    tbb::task_group_context context;
    homing::scheduler::bind_context(me, context);
    homing::scheduler::task_access::set_context(task_, &context);
    homing::scheduler::task_access::set_isolation(task_, homing::scheduler::no_isolation);
    a.search().transfer_to(home, {});
    // As if it had been spawned, but for the mail.
    homing::scheduler::keep(
        me, task_, homing::scheduler::make_tag(homing::scheduler::no_isolation, homing::scheduler::affinity{0}));
    posted_.store(true, sync::release);
    await("the look of the slot's thread", [&] { return task_.ran_by() != nullptr || passed_by(); });
    EXPECT_FALSE(passed_by()) << "what is for its own slot";
    a.search().withdraw(home);
    a.call_instead(home);
    await("the task", [&] { return task_.ran_by() != nullptr; });
    EXPECT_EQ(task_.ran_by(), addressee_);
  }

  homing::scheduler::thread_state* addressee_ = nullptr;
  sync::atomic<bool> posted_{false};
  task_for_slot task_;
};

void expect_own_task_taken(const char* rule) {
  in_own_process(two_domains(rule), [] {
    EXPECT_EQ(to_index(homing::scheduler::this_thread().domain), 0U);
    EXPECT_EQ(homing::scheduler::resource_manager::current().domain_count(), 2U);
    std::jthread([] { hidden_mail().run(); });
  });
}

TEST(mailbox_idle, a_slots_thread_leaves_its_own_task_to_nobody) { expect_own_task_taken("homing"); }
TEST(mailbox_idle, a_slots_thread_leaves_its_own_task_to_nobody_by_figure_9) { expect_own_task_taken("paper"); }
TEST(mailbox_idle, a_slots_thread_leaves_its_own_task_to_nobody_by_upstreams_rule) { expect_own_task_taken("tbb"); }

}  // namespace
