// Where the stages of pipelines run: at home, nearly always, while load is even and all threads are there, whether a
// stage or each item has a home, and also when an item had to wait for its turn. Made-up machines; threads that are
// ahead wait for those behind, so that load is even without a clock.
#include <array>
#include <optional>
#include <type_traits>

#include "unit/common/pipeline_fixture.hpp"

namespace {

using namespace homing::testing;
using homing::to_index;

constexpr double nearly_always = 0.95;

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
/// of the homes are let go, and all that is left to do waits in their queues.
TEST_P(pipeline_homes, items_run_at_theirs) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    with_threads(domains, [&](unsigned threads) {
      const unsigned here = to_index(homing::current_domain());
      const unsigned homes = domains - 1;
      const std::size_t items = 400 * std::size_t{homes};
      source in(items, items);
      pace abreast(domains, 8, pace::who::those_at_home, domains * threads_a_domain);
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

/// Every item passes a stage in each domain, in turn. A thread at home stays in its stage until the stage before has
/// brought the next items, and begins when the first are there, so that each domain has work. Threads that begin late
/// leave their work to others in one run or another: the share must be reached in one of a few.
double share_of_one_run(unsigned domains, unsigned threads) {
  const std::size_t items = 400 * std::size_t{domains};
  constexpr std::size_t ahead_min = threads_a_domain;
  constexpr std::size_t ahead_max = 8;
  source in(items, items);
  home_tally seen;
  std::vector<std::atomic<std::size_t>> begun(domains);
  std::vector<std::atomic<std::size_t>> ended(domains);
  const auto here = [] { return to_index(homing::current_domain()); };
  const auto stage = [&](unsigned d) {
    return tbb::make_filter<item, item>(
        filter_mode::parallel, homing::on(d, [&, d](const item& i) {
          seen.note(d);
          const std::size_t mine = begun[d].fetch_add(1) + 1;
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
  tbb::parallel_pipeline(items, chain & tbb::make_filter<item, void>(filter_mode::parallel, [](const item&) {}));
  EXPECT_EQ(seen.all(), items * domains);
  return seen.share();
}

TEST_P(pipeline_homes, stages_run_at_theirs) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    with_threads(domains, [&](unsigned threads) {
      double best = 0;
      for (int run = 0; run < 20 && best < nearly_always; ++run) {
        best = std::max(best, share_of_one_run(domains, threads));
      }
      if (homes_count()) {
        EXPECT_GE(best, nearly_always);
      }
    });
  });
}

/// Item 0 comes to the serial stage last: all others wait in its buffer by then, and go home from there.
TEST_P(pipeline_homes, items_that_waited_for_their_turn_go_home_too) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const std::size_t items = 100;
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain);
    home_tally seen;
    for (int round = 0; round < 10; ++round) {
      source in(items, items);
      std::atomic<std::size_t> before{0};
      std::size_t next = 0;
      const unsigned home = domains - 1;
      tbb::parallel_pipeline(
          items, tbb::make_filter<void, item>(filter_mode::serial_in_order, [&](tbb::flow_control& c) {
                   return in.next(c);
                 }) & tbb::make_filter<item, item>(filter_mode::parallel, [&](const item& i) {
                   if (i.number() == 0) {
                     await("the others", [&] { return before.load() == items - 1; });
                   }
                   before.fetch_add(1);
                   return i;
                 }) & tbb::make_filter<item, void>(filter_mode::serial_in_order, homing::on(home, [&](const item& i) {
                                                     EXPECT_EQ(i.number(), next++);
                                                     seen.note(home);
                                                   })));
      EXPECT_EQ(next, items);
    }
    // One item at a time: all other threads are idle, and one that is impatient takes an item before its home's are
    // awake. With as many threads elsewhere, by chance it would be one of `domains`.
    if (homes_count() && domains > 2) {
      EXPECT_GE(seen.share(), 0.5);
    }
  });
}

}  // namespace
