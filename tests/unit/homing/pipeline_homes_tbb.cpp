// Where the stages of pipelines run: at home, nearly always, while load is even and all threads are there, whether a
// stage or each item has a home, and also when an item had to wait for its turn. Made-up machines; threads that are
// ahead wait for those behind, so that load is even without a clock.
#include <oneapi/tbb/task_group.h>

#include <array>
#include <optional>
#include <type_traits>

#include "unit/common/pipeline_fixture.hpp"

namespace {

using namespace homing::testing;
using homing::to_index;

constexpr double nearly_always = 0.99;

/// Runs `f(threads)` in an arena with as many threads as two a domain, the calling one among them.
template <class F>
void with_threads(unsigned domains, F&& f) {
  const unsigned threads = domains * threads_a_domain;
  const parallelism limit(parallelism::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] { f(threads); });
}

class pipeline_homes : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(domains, pipeline_homes, ::testing::Values(2U, 4U, 8U));

/// The calling thread fetches all items, each at home in another domain, while all other threads are held; then those
/// of the homes are let go, and all that is left to do waits in their queues. No home comes to its end before all items
/// have begun.
TEST_P(pipeline_homes, items_run_at_theirs) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    with_threads(domains, [&](unsigned threads) {
      const unsigned here = to_index(homing::current_domain());
      const unsigned homes = domains - 1;
      const std::size_t items = 100 * std::size_t{homes};
      source in(items, items);
      pace abreast(domains, 0, pace::who::those_at_home, threads);
      abreast.leave_out(here);
      home_tally seen;
      const auto home = [=](const item& i) {
        return static_cast<std::uint32_t>((here + 1 + i.number() % homes) % domains);
      };
      tbb::task_arena inside(tbb::attach{});
      const held_threads others(inside, threads - 1, [&] {
        return to_index(homing::current_domain()) == here ? seen.all() == items : in.at_end();
      });
      tbb::parallel_pipeline(
          items, tbb::make_filter<void, item>(filter_mode::serial_in_order, [&](tbb::flow_control& c) {
                   return in.next_or_hold(c, [&] { return !homes_count() || seen.all() == items; });
                 }) & tbb::make_filter<item, void>(filter_mode::parallel, homing::on(home, [&](const item& i) {
                                                     seen.note(home(i));
                                                     abreast.step(home(i));
                                                   })));
      EXPECT_EQ(seen.all(), items);
      if (homes_count()) {
        EXPECT_GE(seen.share(), nearly_always);
      }
    });
  });
}

/// Every item passes a stage in each domain, in turn. A thread at home stays in its stage until so many of the next
/// items have come from the stage before that each thread has one in its queue, whatever is still on the way; it begins
/// when the first are there. While the first stage has items left, nobody is out of work; what runs where is noted as
/// long.
void run_stages(unsigned domains, unsigned threads, home_tally& seen) {
  const std::size_t items = 200 * std::size_t{domains};
  constexpr std::size_t ahead_min = 2 * threads_a_domain;  // as many threads may have ended an item and not sent it yet
  constexpr std::size_t ahead_max = 4 * threads_a_domain;
  source in(items, items);
  std::atomic<std::size_t> last{0};
  std::vector<std::atomic<std::size_t>> begun(domains);
  std::vector<std::atomic<std::size_t>> ended(domains);
  const auto here = [] { return to_index(homing::current_domain()); };
  const auto stage = [&](unsigned d) {
    return tbb::make_filter<item, item>(
        filter_mode::parallel, homing::on(d, [&, d](const item& i) {
          const std::size_t mine = begun[d].fetch_add(1) + 1;
          if (begun[0].load() < items) seen.note(d);
          if (d > 0 && here() == d) {
            await("the stage before", [&] { return ended[d - 1].load() >= std::min(items, mine + ahead_min); });
          }
          if (d + 1 < domains && here() == d) {
            await("the stage behind", [&] { return mine <= begun[d + 1].load() + ahead_max; });
          }
          ended[d].fetch_add(1);
          return i;
        }));
  };
  const auto has_work = [&] { return here() == 0 || ended[here() - 1].load() > ahead_min; };
  tbb::task_arena inside(tbb::attach{});
  const held_threads others(inside, threads - 1, [&] { return here() == 0 ? in.at_end() : has_work(); });
  auto chain = tbb::make_filter<void, item>(filter_mode::serial_in_order,
                                            [&](tbb::flow_control& c) { return in.next_or_hold(c, has_work); });
  for (unsigned d = 0; d < domains; ++d) chain = chain & stage(d);
  const auto end = tbb::make_filter<item, void>(filter_mode::parallel, [&](const item&) { last.fetch_add(1); });
  tbb::parallel_pipeline(items, chain & end);
  EXPECT_EQ(last.load(), items);
}

TEST_P(pipeline_homes, stages_run_at_theirs) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    with_threads(domains, [&](unsigned threads) {
      home_tally seen;
      run_stages(domains, threads, seen);
      EXPECT_GT(seen.all(), 100 * std::size_t{domains});
      if (homes_count()) {
        EXPECT_GE(seen.share(), nearly_always);
      }
    });
  });
}

/// One run of `items_that_waited_for_their_turn_go_home_too`. The calling thread has item 0, and home's threads all
/// others, which wait in the serial stage's buffer when item 0 comes; but for the last two, with which home's threads
/// stay where they are until the calling thread is held behind item 0.
void pass_item_0_last(unsigned home, unsigned threads, std::size_t items, home_tally& seen) {
  source in(items, items);
  std::atomic<std::size_t> before{0};
  std::atomic<bool> is_begun{false};
  std::atomic<bool> is_caller_held{false};
  std::size_t next = 0;
  const std::size_t all = seen.all() + items;
  const auto is_over = [&] { return seen.all() == all; };
  const auto is_home = [=] { return to_index(homing::current_domain()) == home; };
  tbb::task_group behind;
  tbb::task_arena inside(tbb::attach{});
  const held_threads others(inside, threads - 1,
                            [&] { return is_home() && homes_count() ? is_begun.load() : is_over(); });
  const auto bring = [&](const item& i) {
    if (i.number() != 0) {
      const std::size_t mine = before.fetch_add(1) + 1;
      if (is_home() && mine > items - 1 - threads_a_domain) {
        await("the calling thread to be held", [&] { return is_caller_held.load() || in.at_end(); });
      }
    } else if (homes_count()) {
      is_begun.store(true);
      await("the others", [&] { return before.load() == items - 1; });
      behind.run([&] {
        is_caller_held.store(true);
        await("all items", is_over);
      });
    }
    return i;
  };
  tbb::parallel_pipeline(
      items, tbb::make_filter<void, item>(filter_mode::serial_in_order,
                                          [&](tbb::flow_control& c) {
                                            return in.next_or_hold(
                                                c, [&] { return !homes_count() || is_home() || is_over(); });
                                          }) &
                 tbb::make_filter<item, item>(filter_mode::parallel, bring) &
                 tbb::make_filter<item, void>(filter_mode::serial_in_order, homing::on(home, [&](const item& i) {
                                                EXPECT_EQ(i.number(), next++);
                                                seen.note(home);
                                              })));
  behind.wait();
  EXPECT_EQ(next, items);
}

TEST_P(pipeline_homes, items_that_waited_for_their_turn_go_home_too) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    with_threads(domains, [&](unsigned threads) {
      home_tally seen;
      for (int round = 0; round < 10; ++round) pass_item_0_last(domains - 1, threads, 100, seen);
      if (homes_count()) {
        EXPECT_GE(seen.share(), nearly_always);
      }
    });
  });
}

}  // namespace
