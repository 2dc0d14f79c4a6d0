// Where the iterations of loops with distributions run: at home while load is even and all threads are there;
// elsewhere, and soon, when a home's threads are away or have too much. Made-up machines of 2, 4 and 8 domains. Time
// plays no part: threads that are ahead wait for those behind, so that load is even by construction.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/parallel_for.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "unit/common/await.hpp"
#include "unit/common/held_threads.hpp"
#include "unit/common/own_process.hpp"
#include "unit/common/pace.hpp"

namespace {

using homing::domain_index;
using homing::to_index;
using homing::testing::await;
using homing::testing::contender;
using homing::testing::environment;
using homing::testing::gathering;
using homing::testing::in_own_process;
using homing::testing::pace;
using parallelism = tbb::global_control;
using range = tbb::blocked_range<std::size_t>;

constexpr unsigned threads_a_domain = 2;

environment machine_of(unsigned domains) {
  return {{"HOMING_TOPOLOGY", "node:" + std::to_string(domains) + " core:2 pu:1"}};
}

/// Iterations by home and by domain that ran them.
class tally {
 public:
  explicit tally(unsigned domains) : domains_(domains), counts_(domains * domains) {}
  void note(domain_index home) {
    counts_[to_index(home) * domains_ + to_index(homing::current_domain())].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t of(unsigned home, unsigned ran_in) const {
    return counts_[home * domains_ + ran_in].load();
  }
  [[nodiscard]] std::uint64_t at_home() const {
    std::uint64_t sum = 0;
    for (unsigned d = 0; d < domains_; ++d) sum += of(d, d);
    return sum;
  }
  [[nodiscard]] std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const auto& c : counts_) sum += c.load();
    return sum;
  }
  [[nodiscard]] double share() const { return static_cast<double>(at_home()) / static_cast<double>(all()); }

 private:
  const unsigned domains_;
  std::vector<std::atomic<std::uint64_t>> counts_;
};

class homes : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(domains, homes, ::testing::Values(2U, 4U, 8U));

/// A loop over `size` iterations with all threads there, held until all is sent. `how`: as of homing::parallel_for().
template <class How, class Body>
void run_with_all(tbb::task_arena& arena, unsigned threads, std::size_t size, How& how, const Body& body) {
  gathering all(arena, threads - 1);
  arena.execute([&] {
    homing::parallel_for(
        range(0, size),
        [&](const range& r) {
          all.let_go();
          body(r);
        },
        how);
  });
}

/// Nobody comes to the end of his domain's part before all iterations have begun. Each iteration is noted.
void run_evenly(tbb::task_arena& arena, unsigned domains, const homing::regular_distribution<>& dist, tally& seen) {
  const unsigned threads = domains * threads_a_domain;
  pace abreast(domains, 0, pace::who::those_at_home, threads);
  run_with_all(arena, threads, dist.size(), dist, [&](const range& r) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) {
      seen.note(dist.home_of(i));
      abreast.step(to_index(dist.home_of(i)));
    }
  });
}

/// The same where there are as many iterations as threads: nobody has ended one before all have begun.
void run_at_once(tbb::task_arena& arena, unsigned threads, const homing::regular_distribution<>& dist, tally& seen) {
  std::atomic<std::size_t> begun{0};
  run_with_all(arena, threads, dist.size(), dist, [&](const range& r) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) seen.note(dist.home_of(i));
    begun.fetch_add(r.size());
    await("all iterations", [&] { return begun.load() == dist.size(); });
  });
}

/// The same with affinity_partitioner, whose parts may have any home. A thread that has one gives the CPU away for a
/// while, so that others come to one, too.
void run_learning(tbb::task_arena& arena, unsigned threads, const homing::regular_distribution<>& dist,
                  tbb::affinity_partitioner& learning, tally& seen) {
  std::atomic<std::size_t> begun{0};
  run_with_all(arena, threads, dist.size(), learning, [&](const range& r) {
    begun.fetch_add(r.size());
    for (std::size_t i = r.begin(); i != r.end(); ++i) seen.note(dist.home_of(i));
    for (int round = 0; round < 100 && begun.load() < dist.size(); ++round) std::this_thread::yield();
  });
}

TEST_P(homes, even_load_runs_at_home) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain);
    const std::size_t rounds = 100;
    const auto dist = homing::block(16 * std::size_t{domains});
    tbb::task_arena arena(static_cast<int>(domains * threads_a_domain));
    tally seen(domains);
    for (std::size_t round = 0; round < rounds; ++round) run_evenly(arena, domains, dist, seen);
    EXPECT_EQ(seen.all(), rounds * dist.size());
    EXPECT_GE(seen.share(), 0.99);
    std::printf("%u domains: %.4f at home\n", domains, seen.share());
  });
}

/// The application's thread makes no iteration of its own there: it is one more than the workers, two a domain.
TEST_P(homes, work_of_a_domain_whose_threads_are_away_is_done_by_the_others) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain + 1);
    tbb::task_arena arena(static_cast<int>(domains * threads_a_domain), 0);
    const unsigned absent = domains - 1;
    const contender away(absent, threads_a_domain);
    const auto dist = homing::block(400 * std::size_t{domains});
    tally seen(domains);
    constexpr std::uint64_t rounds = 20;
    std::atomic<std::uint64_t> ended{0};
    arena.enqueue([&] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        homing::parallel_for(
            range(0, dist.size()),
            [&](const range& r) {
              for (std::size_t i = r.begin(); i != r.end(); ++i) {
                seen.note(dist.home_of(i));
                std::this_thread::yield();
              }
            },
            dist);
        ended.fetch_add(1);
      }
    });
    await("loops while a domain's threads are held elsewhere", [&] { return ended.load() == rounds; });
    EXPECT_EQ(seen.all(), rounds * dist.size());
    EXPECT_EQ(seen.of(absent, absent), 0U) << "its threads are held";
    std::uint64_t done = 0;
    for (unsigned d = 0; d < domains; ++d) done += seen.of(absent, d);
    EXPECT_EQ(done, rounds * dist.size_of(domain_index{absent}));
  });
}

/// Domain 0's iterations wait until all others' have ended: only then the others can help, and do.
TEST_P(homes, skewed_work_is_stolen_outwards) {
  const auto report = in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain);
    const std::size_t each = 2000;
    const auto dist = homing::block(each * domains);
    tally seen(domains);
    std::atomic<std::size_t> light{0};
    std::atomic<unsigned> helpers{0};  // threads of other domains that have taken part in domain 0's work
    homing::parallel_for(
        range(0, dist.size(), 1),
        [&](const range& r) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) {
            const domain_index home = dist.home_of(i);
            seen.note(home);
            if (to_index(home) != 0) {
              light.fetch_add(1);
            } else {
              if (to_index(homing::current_domain()) != 0) helpers.fetch_add(1);
              await("the light work", [&] { return light.load() == each * (domains - 1); });
              await("help from another domain", [&] { return helpers.load() > 0; });
            }
          }
        },
        dist);
    EXPECT_EQ(seen.all(), dist.size());
    EXPECT_GT(helpers.load(), 0U);
  });
  EXPECT_GT(report.number("far"), 0U) << "the counters say that tasks were stolen from afar";
}

/// Each domain goes over all of many pieces, for its own.
TEST_P(homes, many_pieces_run_at_home) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const unsigned threads = domains * threads_a_domain;
    const std::size_t rounds = 50;
    const parallelism limit(parallelism::max_allowed_parallelism, threads);
    const auto dist = homing::cyclic(40 * std::size_t{domains});
    tbb::task_arena arena(static_cast<int>(threads));
    tally seen(domains);
    for (std::size_t round = 0; round < rounds; ++round) run_evenly(arena, domains, dist, seen);
    EXPECT_EQ(seen.all(), rounds * dist.size());
    EXPECT_GE(seen.share(), 0.99);
  });
}

/// Rounds in which one domain's threads are held elsewhere, each time another's, while its work runs with the others;
/// between them rounds with all threads. A distribution's homes are what they were; affinity_partitioner has learned
/// where the work ran while its threads were away, and stays there. Arenas come and go all the time.
TEST_P(homes, affinities_never_drift_where_affinity_partitioners_do) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const unsigned rounds = 1000;
    const unsigned threads = domains * threads_a_domain;
    const parallelism limit(parallelism::max_allowed_parallelism, threads);
    const auto dist = homing::block(threads);
    const range whole(0, dist.size());
    tbb::affinity_partitioner learning;
    tally sticky(domains);
    tally learned(domains);
    tally unused(domains);
    for (unsigned round = 0; round < rounds; ++round) {
      tbb::task_arena arena(static_cast<int>(threads));
      {
        // 0 has the application's thread, which is always there.
        const contender away(1 + round % (domains - 1), threads_a_domain);
        arena.execute([&] {
          homing::parallel_for(
              whole, [](const range&) {}, dist);
        });
        run_learning(arena, threads - threads_a_domain, dist, learning, unused);
      }
      run_at_once(arena, threads, dist, sticky);
      run_learning(arena, threads, dist, learning, learned);
    }
    EXPECT_EQ(sticky.all(), std::uint64_t{rounds} * threads);
    EXPECT_EQ(learned.all(), sticky.all());
    EXPECT_GE(sticky.share(), 0.99);
    if (domains > 2) {  // of two domains one is always away: rarely, both halves come back all the same
      EXPECT_LT(learned.share(), 0.9);
    }
    std::printf("%u domains: distribution %.3f at home, affinity_partitioner %.3f\n", domains, sticky.share(),
                learned.share());
  });
}

}  // namespace
