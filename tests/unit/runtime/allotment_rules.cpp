// Who gets how many workers of which domains: the allotment as a computation, without threads. By cases, and by what
// must hold of any supply and any demands, over many random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/workers/allotment.hpp"

namespace {

using homing::scheduler::allotment;
using homing::scheduler::arena_demand;
using homing::scheduler::domain_supply;
using counts = std::vector<int>;

/// One arena's numbers; the allotment looks at them where they are.
struct asker {
  std::vector<unsigned> cpus;
  counts present;
  unsigned workers_max = 0;
  bool has_more = true;
  bool is_mandatory = false;
  bool is_of_one_domain = false;
  counts searching{};  ///< none given: nobody
  counts share{};
  bool has_portion = false;
  bool is_trimmed = false;
  bool portion_is_mandatory = false;
  unsigned wanted = 0;

  arena_demand demand() {
    share.assign(cpus.size(), -1);
    searching.resize(cpus.size());
    return {.cpus = cpus,
            .present = present,
            .searching = searching,
            .share = share,
            .workers_max = workers_max,
            .workers = static_cast<unsigned>(std::accumulate(present.begin(), present.end(), 0)),
            .has_more = has_more,
            .is_mandatory = is_mandatory,
            .is_of_one_domain = is_of_one_domain};
  }
  [[nodiscard]] int total() const { return std::accumulate(share.begin(), share.end(), 0); }
};

asker wants(unsigned workers, std::vector<unsigned> cpus) {
  return {.cpus = cpus, .present = counts(cpus.size(), 0), .workers_max = workers};
}

/// `planned` workers a domain, and as many CPUs.
std::vector<domain_supply> domains(std::vector<int> planned) {
  std::vector<domain_supply> result;
  for (const int p : planned) {
    result.push_back({.planned = p, .leased = 0, .cpus = static_cast<unsigned>(p), .has_caller = false});
  }
  return result;
}

using levels = std::vector<std::vector<asker>>;

/// As the resource manager does it; arenas that are not offered have no share.
struct outcome {
  std::vector<allotment::level_result> of_level;
  bool is_unmet = false;
  counts promised;
};

void note_portion(const allotment::portion& p, levels& all) {
  for (auto& level : all) {
    for (asker& a : level) {
      if (a.share.data() == p.of.share.data()) {
        a.has_portion = true;
        a.is_trimmed = p.is_trimmed;
        a.portion_is_mandatory = p.is_mandatory;
        a.wanted = p.wanted;
        EXPECT_EQ(static_cast<int>(p.given), a.total());
      }
    }
  }
}

outcome deal(const std::vector<domain_supply>& supply, unsigned allottable, levels& all) {
  allotment dealer(static_cast<unsigned>(supply.size()));
  dealer.reserve(64);
  dealer.begin(supply, allottable);
  outcome result;
  for (auto& level : all) {
    dealer.begin_level();
    auto next = level.begin();
    for (; next != level.end() && dealer.has_left(); ++next) {
      dealer.offer(next->demand());
    }
    for (auto rest = next; rest != level.end(); ++rest) {
      rest->share.assign(rest->cpus.size(), 0);
    }
    result.of_level.push_back(dealer.end_level(next != level.end()));
  }
  dealer.end();
  for (const allotment::portion& p : dealer.portions()) {
    note_portion(p, all);
  }
  result.is_unmet = dealer.is_unmet();
  for (unsigned d = 0; d < supply.size(); ++d) {
    result.promised.push_back(dealer.promised(d));
  }
  return result;
}

TEST(allotment_rules, one_arena_gets_of_each_domain_in_proportion_to_its_cpus) {
  levels all{{wants(6, {4, 2})}};
  const outcome end = deal(domains({4, 2}), 6, all);
  EXPECT_EQ(all[0][0].share, (counts{4, 2}));
  EXPECT_FALSE(end.is_unmet);
  EXPECT_EQ(end.promised, (counts{4, 2}));
  EXPECT_FALSE(end.of_level[0].is_crowded) << "one arena more of this level would have got one";

  levels half{{wants(3, {4, 2})}};
  EXPECT_FALSE(deal(domains({4, 2}), 6, half).of_level[0].is_crowded);
  EXPECT_EQ(half[0][0].share, (counts{2, 1}));
}

TEST(allotment_rules, each_gets_one_before_any_gets_a_second) {
  levels all{{wants(4, {2, 2}), wants(1, {2, 2}), wants(4, {2, 2})}};
  const outcome end = deal(domains({2, 2}), 4, all);
  EXPECT_GE(all[0][0].total(), 1);
  EXPECT_EQ(all[0][1].total(), 1);
  EXPECT_GE(all[0][2].total(), 1);
  EXPECT_EQ(all[0][0].total() + all[0][2].total(), 3);
  EXPECT_TRUE(end.is_unmet);
  EXPECT_FALSE(end.of_level[0].has_losers);
}

TEST(allotment_rules, who_comes_too_late_in_its_level_gets_none) {
  levels all{{wants(2, {2}), wants(2, {2}), wants(2, {2})}};
  const outcome end = deal(domains({2}), 2, all);
  EXPECT_EQ(all[0][0].total(), 1);
  EXPECT_EQ(all[0][1].total(), 1);
  EXPECT_EQ(all[0][2].total(), 0);
  EXPECT_TRUE(end.of_level[0].has_losers);
  EXPECT_TRUE(end.of_level[0].is_crowded);
}

TEST(allotment_rules, a_higher_priority_takes_all_that_it_can_use) {
  levels all{{wants(3, {2, 2})}, {wants(3, {2, 2})}};
  deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].total(), 3);
  EXPECT_EQ(all[1][0].total(), 1);
}

TEST(allotment_rules, the_rest_is_shared_in_proportion_to_what_is_wanted) {
  // One each; of the other ten, the one that lacks twice as many gets twice as many, rounded.
  levels all{{wants(9, {6, 6}), wants(5, {6, 6})}};
  deal(domains({6, 6}), 12, all);
  EXPECT_EQ(all[0][0].total(), 7);
  EXPECT_EQ(all[0][1].total(), 5);
}

TEST(allotment_rules, two_arenas_get_as_many_of_each_domain) {
  for (unsigned a = 1; a <= 4; ++a) {
    levels all{{wants(a, {2, 2}), wants(4 - a, {2, 2})}};
    if (a == 4) all[0].pop_back();
    deal(domains({2, 2}), 4, all);
    for (const asker& one : all[0]) {
      EXPECT_LE(std::abs(one.share[0] - one.share[1]), 1) << a << " of 4";
    }
  }
}

TEST(allotment_rules, who_has_no_more_work_keeps_its_workers_where_they_are) {
  asker done = wants(4, {2, 2});
  done.present = {0, 2};
  done.has_more = false;
  levels all{{done, wants(4, {2, 2})}};
  const outcome end = deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].share, (counts{0, 2}));
  EXPECT_TRUE(all[0][0].is_trimmed);
  EXPECT_EQ(all[0][1].share, (counts{2, 0}));
  EXPECT_TRUE(end.is_unmet);
}

TEST(allotment_rules, one_that_is_alone_under_a_limit_waits_for_nobody) {
  levels all{{wants(4, {2, 2})}};
  EXPECT_FALSE(deal(domains({1, 1}), 2, all).is_unmet);
  levels two{{wants(4, {2, 2})}, {wants(4, {2, 2})}};
  EXPECT_TRUE(deal(domains({1, 1}), 2, two).is_unmet) << "the first may end";
}

asker done_with(counts present, counts searching) {
  asker a = wants(4, {2, 2});
  a.present = std::move(present);
  a.searching = std::move(searching);
  a.has_more = false;
  return a;
}

TEST(allotment_rules, workers_that_look_for_work_are_for_whoever_has_some) {
  levels all{{done_with({2, 2}, {1, 2}), wants(4, {2, 2})}};
  const outcome end = deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].share, (counts{1, 0}));
  EXPECT_EQ(all[0][1].share, (counts{1, 2}));
  EXPECT_TRUE(end.is_unmet);
}

TEST(allotment_rules, they_are_for_a_lower_priority_too) {
  levels all{{done_with({2, 2}, {2, 2})}, {wants(3, {2, 2})}};
  deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].total(), 1) << "what nobody else wants stays";
  EXPECT_TRUE(all[0][0].has_portion);
  EXPECT_EQ(all[1][0].total(), 3);
}

TEST(allotment_rules, they_stay_where_they_are_if_nobody_else_wants_them) {
  levels all{{done_with({2, 1}, {2, 1})}};
  const outcome end = deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].share, (counts{2, 1}));
  EXPECT_TRUE(all[0][0].is_trimmed);
  EXPECT_FALSE(end.is_unmet);
  EXPECT_FALSE(end.of_level[0].is_crowded);
}

TEST(allotment_rules, an_arena_that_loses_all_its_workers_is_told) {
  levels all{{done_with({1, 0}, {1, 0}), wants(2, {2, 0})}};
  deal(domains({1, 1}), 1, all);
  EXPECT_TRUE(all[0][0].has_portion) << "it learns that its share was trimmed";
  EXPECT_EQ(all[0][0].total(), 0);
  EXPECT_EQ(all[0][1].total(), 1);
}

TEST(allotment_rules, workers_that_are_there_decide_among_equals) {
  asker there = wants(1, {2, 2});
  there.present = {0, 1};
  levels all{{there}};
  deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].share, (counts{0, 1}));
}

TEST(allotment_rules, leased_workers_are_nobodys) {
  auto supply = domains({3, 3});
  supply[1].leased = 3;
  levels all{{wants(6, {3, 3})}};
  deal(supply, 3, all);
  EXPECT_EQ(all[0][0].share, (counts{3, 0}));

  // A limit that falls under the leases leaves a domain with less than none.
  supply[0].planned = 1;
  supply[1].planned = 2;
  levels under{{wants(6, {3, 3})}};
  deal(supply, 1, under);
  EXPECT_EQ(under[0][0].share, (counts{1, 0}));
}

TEST(allotment_rules, where_no_worker_is_allowed_who_must_have_one_has_it) {
  asker must = wants(4, {2, 2});
  must.is_mandatory = true;
  levels all{{wants(4, {2, 2}), must}};
  const outcome end = deal(domains({1, 0}), 0, all);
  EXPECT_EQ(all[0][0].total(), 0);
  EXPECT_EQ(all[0][1].total(), 1);
  EXPECT_TRUE(all[0][1].portion_is_mandatory);
  EXPECT_TRUE(end.of_level[0].has_losers);
}

TEST(allotment_rules, where_no_worker_is_allowed_nobody_keeps_those_that_are_there) {
  levels all{{done_with({2, 0}, {2, 0}), done_with({1, 1}, {0, 1}), done_with({1, 0}, {0, 0})}};
  deal(domains({1, 0}), 0, all);
  for (const asker& a : all[0]) {
    EXPECT_EQ(a.total(), 0);
    EXPECT_FALSE(a.has_portion);
  }
}

TEST(allotment_rules, an_arena_of_one_thread_gets_its_mandatory_worker_and_no_other) {
  asker one = wants(0, {2, 2});
  one.is_mandatory = true;
  levels all{{one}};
  deal(domains({2, 2}), 4, all);
  EXPECT_EQ(all[0][0].total(), 1);
  EXPECT_TRUE(all[0][0].portion_is_mandatory);
}

TEST(allotment_rules, constraints_yield_where_their_domains_have_no_worker) {
  levels all{{wants(2, {0, 2})}};
  deal(domains({2, 0}), 2, all);
  EXPECT_EQ(all[0][0].share, (counts{2, 0}));
}

TEST(allotment_rules, a_pinned_section_without_workers_of_its_domain_gets_one_if_it_must) {
  asker section = wants(2, {0, 2});
  section.is_of_one_domain = true;
  levels all{{section}};
  auto supply = domains({2, 0});
  supply[1].cpus = 2;
  const outcome end = deal(supply, 2, all);
  EXPECT_EQ(all[0][0].total(), 0);
  EXPECT_FALSE(end.of_level[0].has_losers) << "its caller does the work alone";
  all[0][0].is_mandatory = true;
  EXPECT_EQ(deal(supply, 2, all).promised, (counts{0, 1})) << "which moves there";
  EXPECT_EQ(all[0][0].share, (counts{0, 1}));
}

TEST(allotment_rules, a_pinned_section_keeps_the_worker_that_moved_there) {
  asker section = wants(2, {0, 2});
  section.is_of_one_domain = true;
  section.is_mandatory = true;
  section.has_more = false;
  section.present = {0, 1};
  section.searching = {0, 1};
  levels all{{section}};
  auto supply = domains({2, 0});
  supply[1].cpus = 2;
  deal(supply, 2, all);
  EXPECT_EQ(all[0][0].share, (counts{0, 1}));
}

TEST(allotment_rules, a_pinned_section_whose_domain_has_gone_gets_a_worker_of_another) {
  asker section = wants(2, {0, 2});
  section.is_of_one_domain = true;
  section.is_mandatory = true;
  levels all{{section}};
  deal(domains({2, 0}), 2, all);
  EXPECT_EQ(all[0][0].share, (counts{1, 0}));
}

TEST(allotment_rules, an_arena_of_one_node_is_filled_by_workers_from_elsewhere) {
  auto supply = domains({3, 4});
  supply[0].cpus = 4;
  supply[0].has_caller = true;
  levels all{{wants(4, {4, 0})}};
  const outcome end = deal(supply, 7, all);
  EXPECT_EQ(all[0][0].share, (counts{4, 0}));
  EXPECT_EQ(end.promised, (counts{4, 0}));
}

// ---- workers to domains

TEST(workers_to_domains, each_goes_where_the_quotient_is_smallest) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<domain_supply> supply(1 + random() % 9);
    for (domain_supply& d : supply) {
      d.cpus = static_cast<unsigned>(random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 200 : random() % 9);
    }
    supply[random() % supply.size()].has_caller = true;
    const auto count = static_cast<unsigned>(random() % 3 == 0 ? random() % 500 : random() % 20);
    std::vector<int> expected(supply.size(), 0);  // one by one, as the paper says it
    for (unsigned i = 0; i < count; ++i) {
      const auto quotient_of = [&](std::size_t d) {
        const int threads = expected[d] + 1 + (supply[d].has_caller ? 1 : 0);
        return supply[d].cpus == 0 ? 1e9 : threads / static_cast<double>(supply[d].cpus);
      };
      std::size_t best = 0;
      for (std::size_t d = 1; d < supply.size(); ++d) {
        if (quotient_of(d) < quotient_of(best)) best = d;
      }
      ++expected[best];
    }
    homing::scheduler::deal_workers(count, supply);
    for (std::size_t d = 0; d < supply.size(); ++d) {
      ASSERT_EQ(supply[d].planned, expected[d]) << "round " << round << ", domain " << d;
    }
  }
}

TEST(workers_to_domains, with_the_caller_there_is_one_a_cpu) {
  std::vector<domain_supply> supply(3);
  supply[0].cpus = 4;
  supply[1] = {.cpus = 2, .has_caller = true};
  supply[2].cpus = 8;
  homing::scheduler::deal_workers(13, supply);
  EXPECT_EQ(supply[0].planned, 4);
  EXPECT_EQ(supply[1].planned, 1);
  EXPECT_EQ(supply[2].planned, 8);
}

// ---- any supply, any demands

struct random_case {
  std::vector<domain_supply> supply;
  unsigned allottable = 0;
  levels all;
};

random_case make_case(std::mt19937& random) {
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  random_case c;
  const unsigned domain_count = 1 + below(6);
  int planned = 0;
  int leased = 0;
  for (unsigned d = 0; d < domain_count; ++d) {
    domain_supply s{.planned = static_cast<int>(below(6)), .leased = 0, .cpus = below(7), .has_caller = d == 0};
    s.leased = below(4) == 0 ? static_cast<int>(below(4)) : 0;
    planned += s.planned;
    leased += s.leased;
    c.supply.push_back(s);
  }
  if (planned == 0) {
    c.supply[0].planned = planned = 1;
  }
  c.allottable = below(8) == 0 ? 0 : static_cast<unsigned>(std::max(0, planned - leased));
  for (unsigned level = 0; level < 3; ++level) {
    c.all.emplace_back();
    for (unsigned i = below(5); i != 0; --i) {
      asker a = wants(below(12), std::vector<unsigned>(domain_count));
      for (unsigned d = 0; d < domain_count; ++d) {
        a.cpus[d] = below(3) == 0 ? 0 : c.supply[d].cpus;
        a.present[d] = static_cast<int>(below(3));
        a.searching.push_back(a.present[d] == 0 ? 0 : static_cast<int>(below(static_cast<unsigned>(a.present[d]) + 1)));
      }
      a.has_more = below(3) != 0;
      a.is_mandatory = a.workers_max == 0 || below(4) == 0;
      a.is_of_one_domain = below(8) == 0;
      bool has_domain = false;
      for (unsigned& cpus : a.cpus) {
        cpus = a.is_of_one_domain && has_domain ? 0 : cpus;
        has_domain = has_domain || cpus != 0;
      }
      c.all.back().push_back(a);
    }
  }
  return c;
}

bool has_no_cpus(const asker& a) {
  return std::all_of(a.cpus.begin(), a.cpus.end(), [](unsigned n) { return n == 0; });
}

int dealt(const random_case& c, std::size_t d) {
  return c.supply[d].planned - (c.allottable == 0 ? 0 : c.supply[d].leased);
}

bool has_free(const random_case& c, const counts& given, const asker& a, unsigned d) {
  return a.cpus[d] != 0 && dealt(c, d) - given[d] > 0;
}

TEST(allotment_rules, hold_for_any_supply_and_any_demands) {
  std::mt19937 random(20061);
  for (int round = 0; round < 20'000; ++round) {
    random_case c = make_case(random);
    const outcome end = deal(c.supply, c.allottable, c.all);
    counts given(c.supply.size(), 0);
    counts moved(c.supply.size(), 0);  // for pinned sections without a worker of their domain
    int total = 0;
    for (const auto& level : c.all) {
      for (const asker& a : level) {
        const int searching = a.has_more ? 0 : std::accumulate(a.searching.begin(), a.searching.end(), 0);
        ASSERT_TRUE(!a.has_portion || a.total() + searching > 0) << "round " << round;
        ASSERT_LE(a.total(), a.has_portion ? static_cast<int>(a.wanted) + searching : 0) << "round " << round;
        ASSERT_LE(a.total(), static_cast<int>(std::max(1U, a.workers_max))) << "round " << round;
        ASSERT_TRUE(a.total() == 0 || c.allottable != 0 || a.is_mandatory) << "round " << round;
        for (std::size_t d = 0; d < given.size(); ++d) {
          ASSERT_GE(a.share[d], 0) << "round " << round;
          given[d] += a.share[d];
          moved[d] += a.is_of_one_domain && a.cpus[d] != 0 && dealt(c, d) <= 0 ? a.share[d] : 0;
          const bool is_there = a.share[d] <= a.present[d];  // and keeps its share while it works
          ASSERT_TRUE(!a.is_of_one_domain || is_there || a.cpus[d] != 0 || has_no_cpus(a)) << "round " << round;
        }
        total += a.total();
      }
    }
    ASSERT_LE(total, static_cast<int>(std::max(1U, c.allottable))) << "round " << round;
    ASSERT_EQ(given, end.promised) << "round " << round;
    for (std::size_t d = 0; d < given.size(); ++d) {
      const int places =
          std::max(c.supply[d].planned + (c.supply[d].has_caller ? 1 : 0), static_cast<int>(c.supply[d].cpus));
      ASSERT_LE(given[d] - moved[d], c.supply[d].planned == 0 ? 0 : places) << "round " << round << ", domain " << d;
    }
    std::size_t with_workers = 0;
    for (const auto& level : c.all) {
      with_workers +=
          static_cast<std::size_t>(std::ranges::count_if(level, [](const asker& a) { return a.has_portion; }));
    }
    const bool is_alone = with_workers == 1;  // nobody else has workers that it could have
    // Whoever got less than it wants has no domain left that could give it one.
    const bool is_spent = total >= static_cast<int>(std::max(1U, c.allottable));
    for (const auto& level : c.all) {
      for (const asker& a : level) {
        for (unsigned d = 0; d < given.size() && a.has_portion && a.total() < static_cast<int>(a.wanted); ++d) {
          ASSERT_TRUE(is_spent || !has_free(c, given, a, d)) << "round " << round << ", domain " << d;
          ASSERT_TRUE(end.is_unmet || is_alone) << "round " << round;
        }
      }
    }
  }
}

}  // namespace
