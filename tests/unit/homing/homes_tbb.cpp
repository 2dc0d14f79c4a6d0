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

/// What even loops over `dist` ran where. A thread that the kernel holds up is not there, and others take its part:
/// hence many rounds, and in the test below a second and a third look.
tally ran_evenly(unsigned domains, std::size_t rounds, const homing::regular_distribution<>& dist) {
  tally seen(domains);
  for (std::size_t round = 0; round < rounds; ++round) {
    pace abreast(domains, 20, pace::who::everybody, domains * threads_a_domain);
    homing::parallel_for(
        range(0, dist.size()),
        [&](const range& r) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) {
            seen.note(dist.home_of(i));
            abreast.step(to_index(dist.home_of(i)));
          }
        },
        dist);
  }
  return seen;
}

TEST_P(homes, even_load_runs_at_home) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain);
    const std::size_t each = 2000;
    const std::size_t rounds = 200;
    const auto dist = homing::block(each * domains);
    double share = 0;
    for (int look = 0; look < 3 && share < 0.99; ++look) {
      const tally seen = ran_evenly(domains, rounds, dist);
      EXPECT_EQ(seen.all(), rounds * dist.size());
      share = seen.share();
    }
    // 0.99 and more in most processes. Of two domains on two CPUs, one process in 15 has 0.976 to 0.984 in each look:
    // why is not known.
    EXPECT_GE(share, 0.97);
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

/// The first part of a loop that each of its threads gets, when all are there: nobody takes a second one before
/// everybody has his first.
class first_parts {
 public:
  explicit first_parts(unsigned threads) : threads_(threads) {}
  /// True if it is the thread's first.
  [[nodiscard]] bool take() {
    if (last_of_this_thread == number_) return false;
    last_of_this_thread = number_;
    begun_.fetch_add(1);
    await("a part for every thread", [this] { return begun_.load() == threads_; });
    return true;
  }

 private:
  static inline thread_local std::uint64_t last_of_this_thread = 0;
  static inline std::uint64_t made = 0;
  const std::uint64_t number_ = ++made;
  const unsigned threads_;
  std::atomic<unsigned> begun_{0};
};

/// Each domain goes over all of many pieces, for its own.
TEST_P(homes, many_pieces_are_begun_at_home) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const unsigned threads = domains * threads_a_domain;
    const unsigned rounds = 200;
    const parallelism limit(parallelism::max_allowed_parallelism, threads);
    const auto dist = homing::cyclic(64 * std::size_t{threads});
    tally seen(domains);
    tbb::task_arena arena(static_cast<int>(threads));
    for (unsigned round = 0; round < rounds; ++round) {
      first_parts firsts(threads);
      gathering all(arena, threads - 1);
      arena.execute([&] {
        homing::parallel_for(
            range(0, dist.size()),
            [&](const range& r) {
              all.let_go();
              if (firsts.take()) seen.note(dist.home_of(r.begin()));
            },
            dist);
      });
    }
    EXPECT_EQ(seen.all(), rounds * threads);
    EXPECT_GE(seen.share(), 0.99);
  });
}

/// Rounds in which one domain's threads are held elsewhere, each time another's, while its work runs with the others;
/// between them rounds with all threads. A distribution's homes are what they were; affinity_partitioner has learned
/// where the work ran while its threads were away, and stays there. Arenas come and go all the time.
TEST_P(homes, affinities_never_drift_where_affinity_partitioners_do) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const unsigned rounds = domains < 8 ? 1000 : 200;  // sixteen threads take turns on the smallest machines
    const unsigned threads = domains * threads_a_domain;
    const parallelism limit(parallelism::max_allowed_parallelism, threads);
    const std::size_t size = 64 * std::size_t{threads};
    const auto dist = homing::block(size);
    tbb::affinity_partitioner learning;
    const auto loop_in = [&](tbb::task_arena& arena, unsigned present, tally& seen, auto&& loop) {
      first_parts firsts(present);
      gathering all(arena, present - 1);
      arena.execute([&] {
        loop([&](const range& r) {
          all.let_go();  // all parts have been sent, and this thread has its own
          if (firsts.take()) seen.note(dist.home_of(r.begin()));
        });
      });
    };
    const auto both = [&](unsigned present, tally& sticky, tally& learned) {
      tbb::task_arena arena(static_cast<int>(threads));
      loop_in(arena, present, sticky, [&](const auto& body) { homing::parallel_for(range(0, size), body, dist); });
      loop_in(arena, present, learned, [&](const auto& body) { tbb::parallel_for(range(0, size), body, learning); });
    };
    tally sticky(domains);
    tally learned(domains);
    tally unused(domains);
    for (unsigned round = 0; round < rounds; ++round) {
      {
        // 0 has the application's thread, which is always there.
        const contender away(1 + round % (domains - 1), threads_a_domain);
        both(threads - threads_a_domain, unused, unused);
      }
      both(threads, sticky, learned);
    }
    EXPECT_EQ(sticky.all(), rounds * threads);
    EXPECT_GE(sticky.share(), 0.99);
    if (domains > 2) {  // of two domains one is always away: rarely, both halves come back all the same
      EXPECT_LT(learned.share(), 0.9);
    }
    std::printf("%u domains: distribution %.3f at home, affinity_partitioner %.3f\n", domains, sticky.share(),
                learned.share());
  });
}

}  // namespace
