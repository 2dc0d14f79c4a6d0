// Where the iterations of loops with distributions run: at home while load is even and all threads are there; elsewhere, and
// soon, when a home's threads are away or have too much. Made-up machines of 2, 4 and 8 domains. Time plays no part: threads
// that are ahead wait for those behind, so that load is even by construction.
#include <gtest/gtest.h>
#include <homing/parallel_for.hpp>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "unit/await.hpp"
#include "unit/own_process.hpp"

namespace {

using homing::domain_index;
using homing::to_index;
using homing::testing::await;
using homing::testing::environment;
using homing::testing::in_own_process;
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
  [[nodiscard]] std::uint64_t of(unsigned home, unsigned ran_in) const { return counts_[home * domains_ + ran_in].load(); }
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

/// Keeps the domains abreast: nobody is more than a few iterations of a home ahead of the slowest home.
class pace {
 public:
  pace(unsigned domains, std::size_t slack) : done_(domains), slack_(slack) {}
  void step(domain_index home) {
    const std::size_t mine = done_[to_index(home)].fetch_add(1) + 1;
    await("the other domains", [&] {
      return std::all_of(done_.begin(), done_.end(), [&](const auto& d) { return mine <= d.load() + slack_; });
    });
  }

 private:
  std::vector<std::atomic<std::size_t>> done_;
  const std::size_t slack_;
};

class homes : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(domains, homes, ::testing::Values(2U, 4U, 8U));

TEST_P(homes, even_load_runs_at_home) {
  in_own_process(machine_of(GetParam()), [] {
    const unsigned domains = GetParam();
    const parallelism limit(parallelism::max_allowed_parallelism, domains * threads_a_domain);
    const std::size_t each = 2000;
    const auto dist = homing::block(each * domains);
    tally seen(domains);
    for (int round = 0; round < 20; ++round) {
      pace abreast(domains, 20);
      homing::parallel_for(range(0, dist.size()),
                           [&](const range& r) {
                             for (std::size_t i = r.begin(); i != r.end(); ++i) {
                               seen.note(dist.home_of(i));
                               abreast.step(dist.home_of(i));
                             }
                           },
                           dist);
    }
    EXPECT_EQ(seen.all(), 20 * dist.size());
    EXPECT_GE(seen.share(), 0.99);
    std::printf("domains %u: %.4f at home\n", domains, seen.share());
  });
}

}  // namespace
