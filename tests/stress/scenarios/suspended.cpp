// Scenarios of suspended tasks: many at once, and on the stacks of application threads.
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include "common/scenario.hpp"

namespace stress {

void many_suspended(const round& r) {
  rng random(r.seed);
  resumer helper;
  const auto count = static_cast<std::size_t>(random.between(10, 400));
  ledger books(count);
  tbb::task_arena arena(random.between(1, r.threads));
  std::vector<std::uint64_t> values(count, 0);  // plain: written after the suspension
  arena.execute([&] {
    tbb::task_group group;
    for (std::size_t i = 0; i < count; ++i) {
      group.run([&, i] {
        const ledger::entry entry(books, i);
        const std::uint64_t before = derive(r.seed, i);
        suspend_once(helper, before);
        tbb::parallel_for(0, 3, [](int) { note_progress(); });
        if (before % 3 == 0) suspend_once(helper, before + 1);
        values[i] = before;
      });
    }
    group.wait();
  });
  require(books.complete(), "suspend: lost tasks");
  for (std::size_t i = 0; i < count; ++i) {
    require(values[i] == derive(r.seed, i), "suspend: a task's writes were not seen by the waiter");
  }
}

/// Each application thread suspends on its own stack, directly and inside nested calls; every
/// blocking call must come back on the thread that made it.
void suspended_external_threads(const round& r) {
  rng random(r.seed);
  resumer helper;
  tbb::task_arena shared(random.between(2, r.threads));
  run_threads(random.between(1, 6), [&](int t) {
    rng own(derive(r.seed, static_cast<std::uint64_t>(t)));
    const std::thread::id self = std::this_thread::get_id();
    const auto check_thread = [&self](const char* what) { require(std::this_thread::get_id() == self, what); };
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t seed = own.next();
      switch (own.below(4)) {
        case 0:
          suspend_once(helper, seed);
          check_thread("suspend outside of tasks came back on another thread");
          break;
        case 1:
          tbb::parallel_for(0, 8, [&](int item) { suspend_once(helper, seed + static_cast<std::uint64_t>(item)); });
          check_thread("parallel_for came back on another thread");
          break;
        case 2:
          shared.execute([&] {
            tbb::parallel_for(0, 8, [&](int item) { suspend_once(helper, seed + static_cast<std::uint64_t>(item)); });
          });
          check_thread("execute came back on another thread");
          break;
        default: {
          tbb::task_arena nested(2);
          nested.execute([&] {
            tbb::task_group group;
            for (std::uint64_t item = 0; item < 4; ++item) {
              group.run([&, item] {
                suspend_once(helper, seed + item);
                shared.execute([&] { suspend_once(helper, seed + item + 100); });
              });
            }
            group.wait();
          });
          check_thread("a nested execute came back on another thread");
        }
      }
    }
  });
}

}  // namespace stress
