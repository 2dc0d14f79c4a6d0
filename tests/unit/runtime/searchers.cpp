// Who searches, by domain: of all that have begun exactly one is told that it was the last, and whoever pushes sees a
// search that goes on, from every domain ([S3], [S14], [S16]).
#include "runtime/arena/searcher_counts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <thread>
#include <vector>

namespace {

namespace sync = homing::sync;
using homing::domain_index;
using homing::scheduler::domain_range;
using homing::scheduler::nested_searcher;
using homing::scheduler::outer_searcher;
using homing::scheduler::searcher_counts;

TEST(searchers, a_search_is_seen_from_every_domain_and_counted_in_its_own) {
  std::array<searcher_counts::line, 3> lines;
  searcher_counts counts(lines);
  EXPECT_EQ(counts.seen_from(domain_index{0}), 0);
  counts.begin(domain_index{1}, outer_searcher);
  for (const domain_index d : domain_range(3)) {
    EXPECT_NE(counts.seen_from(d), 0) << to_index(d);
    EXPECT_EQ(counts.in_domain(d), d == domain_index{1} ? outer_searcher : 0) << to_index(d);
  }
  const auto left = counts.end(domain_index{1}, outer_searcher);
  EXPECT_TRUE(left.last && left.last_of_domain);
  EXPECT_FALSE(left.last_outer || left.last_outer_of_domain);
  EXPECT_EQ(counts.seen_from(domain_index{0}), 0);
}

TEST(searchers, the_last_of_a_domain_is_not_the_last_of_all) {
  std::array<searcher_counts::line, 2> lines;
  searcher_counts counts(lines);
  counts.begin(domain_index{0}, outer_searcher);
  counts.begin(domain_index{0}, outer_searcher);
  counts.begin(domain_index{1}, outer_searcher);
  EXPECT_TRUE(counts.several(domain_index{0}));
  EXPECT_TRUE(counts.several(domain_index{1}));  // one in each
  EXPECT_FALSE(counts.end(domain_index{0}, outer_searcher).last_of_domain);
  const auto second = counts.end(domain_index{0}, outer_searcher);
  EXPECT_TRUE(second.last_of_domain);
  EXPECT_FALSE(second.last);
  EXPECT_NE(counts.seen_from(domain_index{0}), 0);
  EXPECT_FALSE(counts.several(domain_index{0}));
  EXPECT_TRUE(counts.end(domain_index{1}, outer_searcher).last);
}

TEST(searchers, who_goes_on_in_nested_waits_takes_no_enqueued_tasks) {
  std::array<searcher_counts::line, 2> lines;
  searcher_counts counts(lines);
  counts.begin(domain_index{0}, outer_searcher);
  counts.begin(domain_index{0}, nested_searcher);
  counts.begin(domain_index{1}, outer_searcher);
  const auto first = counts.end(domain_index{0}, outer_searcher);
  EXPECT_TRUE(first.last_outer_of_domain);
  EXPECT_FALSE(first.last_of_domain || first.last || first.last_outer);  // domain 1 has one
  const auto second = counts.end(domain_index{1}, outer_searcher);
  EXPECT_TRUE(second.last_outer && second.last_of_domain);
  EXPECT_FALSE(second.last);
  EXPECT_NE(counts.seen_from(domain_index{1}), 0);
  EXPECT_TRUE(counts.end(domain_index{0}, nested_searcher).last);
}

/// All begin, and when all have, they stop at once: domains' last ones race for being the last of all.
TEST(searchers, exactly_one_of_those_who_stop_at_once_is_the_last) {
  constexpr unsigned domains = 3;
  constexpr unsigned threads = 6;
  constexpr unsigned rounds = 500;
  std::vector<searcher_counts::line> lines(domains);
  searcher_counts counts(lines);
  sync::atomic<unsigned> last{0};
  sync::atomic<unsigned> last_of_domain{0};
  sync::atomic<unsigned> unseen{0};
  std::barrier together(threads);
  std::vector<std::jthread> all;
  for (unsigned k = 0; k < threads; ++k) {
    all.emplace_back([&, k] {
      const domain_index here{k % domains};
      for (unsigned round = 0; round < rounds; ++round) {
        const int weight = (k + round) % 4 == 0 ? nested_searcher : outer_searcher;
        counts.begin(here, weight);
        together.arrive_and_wait();
        for (const domain_index d : domain_range(domains)) {
          unseen.fetch_add(counts.seen_from(d) == 0 ? 1 : 0, sync::relaxed);  // all search
        }
        together.arrive_and_wait();
        const auto left = counts.end(here, weight);
        last.fetch_add(left.last ? 1 : 0, sync::relaxed);
        last_of_domain.fetch_add(left.last_of_domain ? 1 : 0, sync::relaxed);
        together.arrive_and_wait();
      }
    });
  }
  all.clear();
  EXPECT_EQ(last.load(sync::relaxed), rounds);
  EXPECT_EQ(last_of_domain.load(sync::relaxed), rounds * domains);
  EXPECT_EQ(unseen.load(sync::relaxed), 0U);
  for (const domain_index d : domain_range(domains)) {
    EXPECT_EQ(counts.seen_from(d), 0);
  }
}

}  // namespace
