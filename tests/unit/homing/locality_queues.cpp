// Locality queues: own domain first, then outwards, oldest first; every entry taken exactly once by as many tickets, on
// machines of 1, 2, 4 and 8 nodes and unequal ones, with 16 threads on whatever CPUs there are.
#include <homing/locality_queues.hpp>
#include <homing/openmp.hpp>

#include <memory>
#include <new>
#include <stdexcept>

#include "unit/common/locality_fixture.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

using int_queues = locality_queues<int, claimed_domain>;
using size_queues = locality_queues<std::size_t, claimed_domain>;

std::vector<topology::snapshot> machines() {
  std::vector<topology::snapshot> result;
  for (const char* text : {"node:1 core:2 pu:1", "node:2 core:2 pu:1", "node:4 core:2 pu:1", "node:8 core:1 pu:1"}) {
    result.push_back(machine_of(text));
  }
  for (const char* name : {"unequal", "memory_less"}) {
    result.push_back(topology::make_snapshot(topology::testing::fixture(name)));
  }
  return result;
}

TEST(locality_queues, local_first_then_nearest_first_then_oldest_first) {
  for (const topology::snapshot& machine : machines()) {
    SCOPED_TRACE(machine.describe());
    const std::size_t domains = machine.domains().size();
    for (std::size_t here = 0; here < domains; ++here) {
      int_queues queues(machine);
      for (int round = 0; round < 3; ++round) {
        for (std::size_t d = 0; d < domains; ++d) queues.enqueue(domain(d), round);
      }
      claimed_domain::value = domain(here);
      EXPECT_EQ(queues.size(), 3 * domains);
      ASSERT_EQ(machine.nearest_first(domain(here)).front(), domain(here));
      for (const domain_index nearest : machine.nearest_first(domain(here))) {
        for (int round = 0; round < 3; ++round) {
          const auto taken = queues.dequeue();
          EXPECT_EQ(taken.home, nearest);
          EXPECT_EQ(taken.item, round) << "oldest first";
          EXPECT_EQ(taken.taken_in, domain(here));
          EXPECT_EQ(taken.is_at_home(), nearest == domain(here));
        }
      }
      EXPECT_EQ(queues.size(), 0U);
      EXPECT_FALSE(queues.try_dequeue());
    }
  }
}

TEST(locality_queues, the_order_outwards_is_that_of_asymmetric_distances) {
  // From node 1 (the second domain) it is 31 to node 0 and 255 to node 5: see tests/data/topology.
  int_queues queues(topology::make_snapshot(topology::testing::fixture("unequal")));
  queues.enqueue(domain(2), 2);
  queues.enqueue(domain(0), 0);
  claimed_domain::value = domain(1);
  EXPECT_EQ(queues.dequeue().item, 0);
  queues.enqueue(domain(1), 1);
  EXPECT_EQ(queues.dequeue().item, 1) << "local again, though the far one has waited longer";
  EXPECT_EQ(queues.dequeue().item, 2);
}

// 16 threads, each of which submits and redeems as OpenMP's threads do: tickets of its own, in bursts.
TEST(locality_queues, as_many_tickets_as_entries_see_each_entry_once) {
  constexpr std::size_t threads = 16;
  constexpr std::size_t bursts = 50;
  constexpr std::size_t burst = 7;
  for (const topology::snapshot& machine : machines()) {
    SCOPED_TRACE(machine.describe());
    const std::size_t domains = machine.domains().size();
    size_queues queues(machine);
    ledger seen(threads * bursts * burst);
    on_threads(threads, [&](std::size_t thread) {
      claimed_domain::value = domain(thread % domains);
      for (std::size_t b = 0; b < bursts; ++b) {
        const std::size_t first = (thread * bursts + b) * burst;
        for (std::size_t i = first; i < first + burst; ++i) queues.enqueue(domain((i * 7 + b) % domains), i);
        for (std::size_t i = 0; i < burst; ++i) seen.note(queues.dequeue().item);
      }
    });
    EXPECT_TRUE(seen.all_seen_once());
    EXPECT_EQ(queues.size(), 0U);
  }
}

// One thread feeds, the others have more tickets than there is at first: they wait for what comes, and all of it comes.
TEST(locality_queues, tickets_that_come_early_wait_for_their_entries) {
  constexpr std::size_t takers = 15;
  constexpr std::size_t each = 60;
  const topology::snapshot machine = machine_of("node:4 core:2 pu:1");
  size_queues queues(machine);
  ledger seen(takers * each);
  on_threads(takers + 1, [&](std::size_t thread) {
    claimed_domain::value = domain(thread % 4);
    if (thread == takers) {
      for (std::size_t i = 0; i < takers * each; ++i) queues.enqueue(domain(i / each % 4), i);
    } else {
      for (std::size_t i = 0; i < each; ++i) seen.note(queues.dequeue().item);
    }
  });
  EXPECT_TRUE(seen.all_seen_once());
}

TEST(locality_queues, contents_of_an_entry_are_seen_by_its_taker) {
  const topology::snapshot machine = machine_of("node:2 core:1 pu:1");
  locality_queues<std::unique_ptr<int>, claimed_domain> queues(machine);
  std::atomic<int> sum{0};
  on_threads(16, [&](std::size_t thread) {
    claimed_domain::value = domain(thread % 2);
    for (int i = 1; i <= 100; ++i) {
      queues.enqueue(domain((thread + i) % 2), std::make_unique<int>(i));
      sum += *queues.dequeue().item;  // written by another thread, as a plain int
    }
  });
  EXPECT_EQ(sum.load(), 16 * 5050);
  queues.enqueue(domain(1), std::make_unique<int>(0));  // left behind: destroyed with the queues (LeakSanitizer sees)
}

TEST(locality_queues, a_bound_thread_is_where_it_is_bound) {
  const topology::snapshot machine = machine_of("node:4 core:2 pu:1");
  const current_machine now(machine);
  locality_queues<int> queues;
  for (std::size_t d = 0; d < 4; ++d) queues.enqueue(domain(d), static_cast<int>(d));
  on_threads(4, [&](std::size_t thread) {
    const topology::bound_thread bound(machine, domain(thread));
    ASSERT_EQ(bound.error_number(), 0);
    const auto taken = queues.dequeue();
    EXPECT_EQ(taken.item, static_cast<int>(thread));
    EXPECT_TRUE(taken.is_at_home());
  });
}

TEST(locality_queues, a_thread_that_nobody_pinned_has_a_domain_too) {
  locality_queues<int> queues;  // of this computer
  queues.enqueue(7);            // at home where we are
  const auto taken = queues.dequeue();
  EXPECT_EQ(taken.item, 7);
  EXPECT_LT(to_index(taken.taken_in), topology::current().domains().size());
}

TEST(locality_queues, a_machine_that_has_grown_since_costs_nearness_only) {
  int_queues queues(machine_of("node:2 core:1 pu:1"));
  queues.enqueue(domain(1), 5);
  claimed_domain::value = domain(7);
  const auto taken = queues.dequeue();
  EXPECT_EQ(taken.item, 5);
  EXPECT_EQ(taken.taken_in, domain(0));
  EXPECT_EQ(queues.size(domain(7)), 0U);
}

TEST(locality_queues, a_home_that_is_not_there_is_the_programmers) {
  int_queues queues(machine_of("node:2 core:1 pu:1"));
  EXPECT_DEATH(queues.enqueue(domain(2), 1), "homing: locality_queues::enqueue: no such domain");
}

// This program is compiled without OpenMP, and without a warning.
TEST(locality_queues, without_openmp_a_submitted_task_runs_at_once) {
  int_queues queues(machine_of("node:2 core:1 pu:1"));
  claimed_domain::value = domain(0);
  queues.enqueue(domain(0), 1);
  int taken = 0;
  openmp::submit(queues, domain(1), 2, [&](const int_queues::entry& e) { taken = e.item; });
  EXPECT_EQ(taken, 1) << "a ticket takes what is near, not its own";
  EXPECT_EQ(queues.size(domain(1)), 1U);
}

// --- through_queues: a body for loops ------------------------------------------------------------------

struct part {
  std::size_t first;
  std::size_t last;
};

TEST(queued_body, takes_as_many_as_each_part_has) {
  const topology::snapshot machine = machine_of("node:4 core:2 pu:1");
  size_queues queues(machine);
  constexpr std::size_t items = 16 * 100;
  ledger seen(items);
  const auto body = through_queues(
      queues,
      [](const part& p, auto put) {
        for (std::size_t i = p.first; i < p.last; ++i) put(domain(i % 4), i);
      },
      [&](const size_queues::entry& taken) { seen.note(taken.item); });
  on_threads(16, [&](std::size_t thread) {
    claimed_domain::value = domain(thread % 4);
    const auto copy = body;
    for (std::size_t first = thread * 100; first < (thread + 1) * 100; first += 10) copy(part{first, first + 10});
  });
  EXPECT_TRUE(seen.all_seen_once());
  EXPECT_EQ(queues.size(), 0U);
}

TEST(queued_body, with_one_domain_each_part_does_its_own_items_in_their_order) {
  int_queues queues(machine_of("node:1 core:4 pu:1"));
  queues.enqueue(domain(0), -1);
  std::vector<int> done;
  const auto body = through_queues(
      queues,
      [](const part& p, auto put) {
        for (std::size_t i = p.last; i-- > p.first;) put(domain(0), static_cast<int>(i));
      },
      [&](int_queues::entry taken) {
        EXPECT_TRUE(taken.is_at_home());
        if (taken.item == 13) throw std::runtime_error("enough");
        done.push_back(taken.item);
      });
  body(part{0, 3});
  EXPECT_EQ(done, (std::vector<int>{2, 1, 0}));
  EXPECT_THROW(body(part{12, 15}), std::runtime_error);
  EXPECT_EQ(done, (std::vector<int>{2, 1, 0, 14}));
  EXPECT_EQ(queues.size(), 1U) << "what somebody else has enqueued";
}

TEST(queued_body, an_exception_leaves_no_entry_behind) {
  int_queues queues(machine_of("node:2 core:1 pu:1"));
  const auto put_ten = [](const part&, auto put) {
    for (int i = 0; i < 10; ++i) put(domain(static_cast<std::size_t>(i) % 2), i);
  };
  int done = 0;
  const auto body = through_queues(queues, put_ten, [&](const int_queues::entry&) {
    if (++done == 4) throw std::runtime_error("enough");
  });
  EXPECT_THROW(body(part{0, 10}), std::runtime_error);
  EXPECT_EQ(done, 4);
  EXPECT_EQ(queues.size(), 0U);
  const auto half_enqueued = through_queues(
      queues,
      [](const part&, auto put) {
        put(domain(0), 1);
        throw std::bad_alloc();
      },
      [](const int_queues::entry&) { FAIL() << "nothing is to be done"; });
  EXPECT_THROW(half_enqueued(part{0, 1}), std::bad_alloc);
  EXPECT_EQ(queues.size(), 0U);
}

}  // namespace
