// Where thieves leave tasks to others, and a thread rests where it can't take what lies in its deque: in an isolated
// wait, in another arena, at another arena's door. Whoever depends on that must get it.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/wait.h>
#include <unistd.h>
#include <homing/steal_policy.hpp>
#include <homing/tasks.hpp>

#include <functional>
#include <thread>
#include <vector>

#include "runtime/thread/thread_state.hpp"
#include "sync/atomic.hpp"
#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::testing::await;
using homing::testing::in_own_process;

constexpr int rounds = 100;

unsigned domain_here() { return to_index(homing::scheduler::this_thread().domain); }

using part = std::function<void(tbb::task_arena&)>;

/// Rounds in an arena of one worker a domain: each worker plays its domain's part.
void play(const std::vector<part>& parts, int slots, homing::steal_policy policy) {
  const auto workers = static_cast<int>(parts.size());
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, parts.size() + 1);
  tbb::task_arena arena(slots, 0);
  homing::initialize(arena, policy);
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    sync::atomic<int> here{0};
    sync::atomic<int> done{0};
    for (int i = 0; i < workers; ++i) {
      arena.enqueue([&] {
        here.fetch_add(1);
        await("one worker of each domain", [&] { return here.load() == workers; });
        parts.at(domain_here())(arena);
        done.fetch_add(1);
      });
    }
    await("the end of all parts", [&] { return done.load() == workers; });
  }
}

/// The same, with thieves that stay.
void play(const std::vector<part>& parts) { play(parts, static_cast<int>(parts.size()), homing::steal_policy::domain); }

/// What one of them waits for while it leaves its tasks alone: the other ends it.
class pledge {
 public:
  void wait() { group_.wait(); }
  void redeem() { group_.run(std::move(handle_)); }

 private:
  tbb::task_group group_;
  tbb::task_handle handle_ = group_.defer([] {});
};

struct plot {
  tbb::task_group tasks;
  pledge promised;
};

/// The first part leaves a task behind and waits for a pledge, by `wait`; the second waits for that task before it
/// redeems the pledge.
void leave_and_wait(const std::function<void(pledge&)>& wait) {
  sync::atomic<plot*> now{nullptr};
  play({[&](tbb::task_arena&) {
          plot p;
          p.tasks.run([] {});
          now.store(&p);
          wait(p.promised);
          p.tasks.wait();
          await("the second part's end", [&] { return now.load() == nullptr; });
        },
        [&](tbb::task_arena&) {
          await("the first part", [&] { return now.load() != nullptr; });
          plot& p = *now.load();
          p.tasks.wait();
          p.promised.redeem();
          p.promised.wait();
          now.store(nullptr);
        }});
}

constexpr const char* two_nodes = "node:2 core:1 pu:1";

TEST(absent, in_an_isolated_wait) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}},
                 [] { leave_and_wait([](pledge& p) { tbb::this_task_arena::isolate([&] { p.wait(); }); }); });
}

TEST(absent, in_another_arena) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}}, [] {
    tbb::task_arena other(2, 2);
    leave_and_wait([&](pledge& p) { other.execute([&] { p.wait(); }); });
  });
}

TEST(absent, at_the_door_of_another_arena) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}}, [] {
    tbb::task_arena full(2, 2);
    leave_and_wait([&](pledge& p) {
      std::vector<std::jthread> inside;
      sync::atomic<int> count{0};
      for (int i = 0; i < 2; ++i) {
        inside.emplace_back([&] {
          full.execute([&] {
            // In a task: an outermost wait would run what waits at the door.
            tbb::task_group group;
            group.run_and_wait([&] {
              count.fetch_add(1);
              p.wait();
            });
          });
        });
      }
      await("those who fill it", [&] { return count.load() == 2; });
      full.execute([] {});
    });
  });
}

/// The deque belongs to a maker in an isolated wait, and so is the only worker of the domain that the task is addressed
/// to.
TEST(absent, from_the_home_of_an_addressed_task) {
  in_own_process({{"HOMING_TOPOLOGY", "node:3 core:1 pu:1"}}, [] {
    struct addressed {
      homing::task_group tasks;
      pledge promised_to_home;
      pledge promised_to_maker;
    };
    sync::atomic<addressed*> now{nullptr};
    sync::atomic<int> ended{0};
    const auto wait_isolated = [&](pledge& p) {
      tbb::this_task_arena::isolate([&] { p.wait(); });
      ended.fetch_add(1);
      await("the end of the third part", [&] { return now.load() == nullptr; });
    };
    play({[&](tbb::task_arena&) {
            await("the maker", [&] { return now.load() != nullptr; });
            wait_isolated(now.load()->promised_to_home);
          },
          [&](tbb::task_arena&) {
            addressed p;
            p.tasks.run(homing::on(0), [] {});
            now.store(&p);
            wait_isolated(p.promised_to_maker);
            p.tasks.wait();
          },
          [&](tbb::task_arena&) {
            await("the maker", [&] { return now.load() != nullptr; });
            addressed& p = *now.load();
            p.tasks.wait();
            p.promised_to_home.redeem();
            p.promised_to_home.wait();
            p.promised_to_maker.redeem();
            p.promised_to_maker.wait();
            await("both ends", [&] { return ended.load() == 2; });
            ended.store(0);
            now.store(nullptr);
          }});
  });
}

/// The queue of a domain whose only worker is in an isolated wait.
TEST(absent, from_its_domains_queue) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}}, [] {
    sync::atomic<pledge*> now{nullptr};
    play({[&](tbb::task_arena&) {
            pledge p;
            now.store(&p);
            tbb::this_task_arena::isolate([&] { p.wait(); });
            await("the second part's end", [&] { return now.load() == nullptr; });
          },
          [&](tbb::task_arena& arena) {
            await("the first part", [&] { return now.load() != nullptr; });
            homing::enqueue(arena, homing::on(0), [&] {
              now.load()->redeem();
              now.load()->wait();
              now.store(nullptr);
            });
          }});
  });
}

/// A slot in which nobody is, and nobody comes: by oneTBB's rule thieves leave its mail to it, or to the maker.
TEST(absent, from_mail_that_waits_for_its_maker) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}, {"HOMING_MAILBOX_IDLE", "tbb"}}, [] {
    struct noted final : tbb::detail::d1::task {
      explicit noted(tbb::detail::d1::wait_context& w) : done(w) {}
      tbb::detail::d1::task* execute(tbb::detail::d1::execution_data&) override {
        done.release();
        return nullptr;
      }
      tbb::detail::d1::task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }
      tbb::detail::d1::wait_context& done;
    };
    struct posted {
      tbb::task_group_context context;
      tbb::detail::d1::wait_context done{1};
      noted mail{done};
      pledge promised;
    };
    sync::atomic<posted*> now{nullptr};
    play({[&](tbb::task_arena&) {
            posted p;
            const auto here = static_cast<unsigned>(tbb::this_task_arena::current_thread_index());
            tbb::detail::d1::spawn(p.mail, p.context, static_cast<tbb::detail::d1::slot_id>(here ^ 1U));
            now.store(&p);
            tbb::this_task_arena::isolate([&] { p.promised.wait(); });
            await("the second part's end", [&] { return now.load() == nullptr; });
          },
          [&](tbb::task_arena&) {
            await("the first part", [&] { return now.load() != nullptr; });
            posted& p = *now.load();
            tbb::detail::d1::wait(p.done, p.context);
            p.promised.redeem();
            p.promised.wait();
            now.store(nullptr);
          }},
         4, homing::steal_policy::near);
  });
}

/// The child has the forking thread only. It waits for what lies in the deque of one of the other domain.
TEST(absent, for_ever_in_the_child_of_a_fork) {
  in_own_process({{"HOMING_TOPOLOGY", two_nodes}}, [] {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 3);
    tbb::task_arena arena(2, 0);
    homing::initialize(arena, homing::steal_policy::domain);
    tbb::task_group group;
    sync::atomic<int> here{0};
    sync::atomic<bool> is_set{false};
    sync::atomic<bool> has_forked{false};
    sync::atomic<int> done{0};
    for (int i = 0; i < 2; ++i) {
      arena.enqueue([&] {
        here.fetch_add(1);
        await("one worker of each domain", [&] { return here.load() == 2; });
        if (domain_here() == 0) {
          group.run([] {});
          is_set.store(true);
          await("the fork", [&] { return has_forked.load(); });
        } else {
          await("the task", [&] { return is_set.load(); });
          const pid_t child = fork();
          if (child == 0) {
            alarm(20);
            group.wait();
            _exit(0);
          }
          int status = -1;
          EXPECT_EQ(waitpid(child, &status, 0), child);
          EXPECT_EQ(status, 0) << "14: the child's alarm";
          has_forked.store(true);
        }
        group.wait();
        done.fetch_add(1);
      });
    }
    await("the end of both", [&] { return done.load() == 2; });
  });
}

}  // namespace
