// A scenario of thousands of small tasks from one thread, which thieves take several at a time: some are isolated, some
// have homes, some have children or wait, and workers must leave in the middle.
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <homing/tasks.hpp>

#include "common/scenario.hpp"

namespace stress {
namespace {

constexpr std::size_t children_of_a_task = 3;

/// `count` tasks in one group, each an item, and the children of some. They are spawned by whoever calls run().
class swarm {
 public:
  swarm(std::uint64_t seed, std::size_t count) : seed_(seed), books_(count), children_(count * children_of_a_task) {}

  void run(bool may_cancel) {
    for (std::size_t i = 0; i < books_.size(); ++i) add(i);
    if (may_cancel) group_.cancel();
    const bool is_complete = group_.wait() == tbb::complete;
    require(books_.quiet() && children_.quiet(), "many: a task runs although its group was waited for");
    require(!is_complete || books_.complete(), "many: a task was lost");
  }

 private:
  void add(std::size_t i) {
    rng own(derive(seed_, i));
    switch (own.below(12)) {
      case 0:
        group_.run(homing::on(domain(own)), [this, i] { task(i); });
        break;
      case 1:
        tbb::this_task_arena::isolate([&] { group_.run([this, i] { task(i); }); });
        break;
      default:
        group_.run([this, i] { task(i); });
    }
  }

  static std::uint32_t domain(rng& own) {
    return static_cast<std::uint32_t>(own.below(static_cast<int>(homing::domain_count())));
  }

  void task(std::size_t i) {
    rng own(derive(seed_, i) + 1);
    const ledger::entry once(books_, i);
    if (own.one_in(200)) burn(own.between(1, 20'000));
    if (!own.one_in(8)) return;
    const auto have_children = [this, i] {
      tbb::task_group below;
      for (std::size_t c = 0; c < children_of_a_task; ++c) {
        below.run([this, i, c] { const ledger::entry child(children_, i * children_of_a_task + c); });
      }
      static_cast<void>(below.wait());
    };
    if (own.one_in(3)) {
      tbb::this_task_arena::isolate(have_children);
    } else {
      have_children();
    }
  }

  const std::uint64_t seed_;
  ledger books_;
  ledger children_;
  homing::task_group group_;
};

}  // namespace

/// Several application threads have swarms, in arenas of their own or in a common one, under a limit that changes.
void swarms_of_tasks(const round& r) {
  rng random(r.seed);
  const int threads = random.between(1, 4);
  tbb::task_arena common(random.between(2, 2 * r.threads), static_cast<unsigned>(threads));
  run_threads(threads, [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    for (int i = 0; i < 3; ++i) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(own.between(1, r.threads)));
      swarm tasks(derive(r.seed, 100 + static_cast<std::uint64_t>(3 * t + i)),
                  static_cast<std::size_t>(own.between(1, 3000)));
      const bool may_cancel = own.one_in(5);
      if (own.one_in(2)) {
        common.execute([&] { tasks.run(may_cancel); });
      } else {
        tasks.run(may_cancel);
      }
    }
  });
}

}  // namespace stress
