// A stream of items through a pipeline: who fetches the next input, and when a thread turns to something else.
#include "runtime/pipeline/pipeline.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_group.h>

#include <sys/resource.h>

#include <barrier>
#include <new>
#include <thread>
#include <vector>

#include "platform/sanitizer.hpp"
#include "runtime/pipeline/input_offer.hpp"
#include "runtime/thread/thread_state.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::observe::event;
using homing::scheduler::input_offer;
using homing::testing::in_own_process;
using tbb::filter_mode;

struct alignas(8) stand_in {};

TEST(input_offers, the_first_needs_a_helper_and_who_offered_may_take_it) {
  input_offer offer;
  const stand_in mine;
  EXPECT_FALSE(offer.take(&mine)) << "nothing is offered";
  EXPECT_TRUE(offer.offer(&mine));
  EXPECT_TRUE(offer.take(&mine));
  EXPECT_FALSE(offer.take(&mine)) << "it has been taken";
  EXPECT_FALSE(offer.offer(&mine)) << "the helper is still out";
  EXPECT_TRUE(offer.take_by_helper());
  EXPECT_FALSE(offer.take_by_helper());
  EXPECT_TRUE(offer.offer(&mine)) << "the helper has run";
}

TEST(input_tokens, more_than_can_be_counted_never_run_out) {
  homing::scheduler::input_tokens tokens(SIZE_MAX);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tokens.take());
  EXPECT_FALSE(tokens.give_back()) << "input never stood still";
}

TEST(pipeline, all_items_pass_whatever_the_tokens) {
  for (const std::size_t tokens : {std::size_t{1}, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX}) {
    int fetched = 0;
    std::atomic<int> passed{0};
    tbb::parallel_pipeline(tokens,
                           tbb::make_filter<void, int>(filter_mode::serial_in_order, [&](tbb::flow_control& control) {
                             if (fetched == 1000) control.stop();
                             return fetched++;
                           }) & tbb::make_filter<int, void>(filter_mode::parallel, [&](int) { ++passed; }));
    EXPECT_EQ(passed, 1000) << tokens << " tokens";
  }
}

TEST(input_offers, another_thread_takes_it_while_items_are_long_or_unknown) {
  input_offer offer;
  const stand_in mine;
  const stand_in other;
  const auto taken_by_other = [&] {
    offer.offer(&mine);
    const bool taken = offer.take(&other);
    offer.take_by_helper();
    return taken;
  };
  EXPECT_TRUE(taken_by_other());
  for (int i = 0; i < 8; ++i) offer.add_item_time(i == 5 ? 50 : 5000);
  EXPECT_FALSE(taken_by_other()) << "the least counts: 5,000 ns may have been somebody else's disturbance";
  for (int i = 0; i < 8; ++i) offer.add_item_time(5000);
  EXPECT_TRUE(taken_by_other()) << "the short one is long ago";
}

TEST(input_offers, each_input_goes_to_one_thread_and_none_is_lost) {
  constexpr int inputs = 100'000;
  input_offer offer;
  sync::atomic<int> helpers{0};
  sync::atomic<bool> ended{false};
  int fetched = 0;  // plain: whoever has the input has it alone
  const auto fetch = [&](const stand_in& me) {
    if (++fetched == inputs) {
      ended.store(true, sync::release);
    } else if (offer.offer(&me)) {
      helpers.fetch_add(1, sync::acq_rel);
    }
  };
  const auto help = [&](const stand_in& me) {
    int seen = helpers.load(sync::acquire);
    if (seen == 0) {
      std::this_thread::yield();
    } else if (helpers.compare_exchange_strong(seen, seen - 1, sync::acq_rel, sync::acquire) &&
               offer.take_by_helper()) {
      fetch(me);
    }
  };
  if (const stand_in first; offer.offer(&first)) helpers.fetch_add(1, sync::acq_rel);
  constexpr int thread_count = 4;
  std::barrier start(thread_count);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      const stand_in me;
      start.arrive_and_wait();
      while (!ended.load(sync::acquire)) {
        if (offer.take(&me)) {
          fetch(me);
        } else {
          help(me);
        }
        EXPECT_LE(helpers.load(sync::relaxed), 1) << "one helper at most is out";
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(fetched, inputs);
}

std::uint64_t tasks_run_here() {
  const auto& counters = homing::scheduler::this_thread().counters;
  return counters.read(event::home) + counters.read(event::away);
}

TEST(pipelines, a_stream_that_nobody_disturbs_is_one_task) {
  in_own_process({}, [] {
    const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
    for (const std::size_t tokens : {std::size_t{1}, std::size_t{16}}) {
      int next = 0;
      int arrived = 0;
      const std::uint64_t before = tasks_run_here();
      tbb::parallel_pipeline(
          tokens,
          tbb::make_filter<void, int>(filter_mode::serial_in_order, [&](tbb::flow_control& control) {
            if (next == 1000) control.stop();
            return next++;
          }) & tbb::make_filter<int, int>(filter_mode::parallel, [](int i) {
            return i;
          }) & tbb::make_filter<int, void>(filter_mode::serial_in_order, [&](int i) { EXPECT_EQ(i, arrived++); }));
      EXPECT_EQ(arrived, 1000);
      EXPECT_GE(tasks_run_here() - before, 1U);
      EXPECT_LE(tasks_run_here() - before, 2U) << "the first, and the helper that nobody needed";
    }
  });
}

/// The first item's body waits for what the second item's body does. One thread, which must come back to the first
/// item then, and not go through the stream first.
void wait_inside_a_stream(filter_mode last) {
  in_own_process({}, [last] {
    const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
    int next = 0;
    int fetched_when_it_came_back = 0;
    int arrived = 0;
    tbb::task_group group;
    tbb::task_handle held = group.defer([] {});
    tbb::parallel_pipeline(16,
                           tbb::make_filter<void, int>(filter_mode::serial_in_order, [&](tbb::flow_control& control) {
                             if (next == 100) control.stop();
                             return next++;
                           }) & tbb::make_filter<int, int>(filter_mode::parallel, [&](int i) {
                             if (i == 0) {
                               group.wait();
                               fetched_when_it_came_back = next;
                             } else if (i == 1) {
                               held = {};
                             }
                             return i;
                           }) & tbb::make_filter<int, void>(last, [&](int) { ++arrived; }));
    EXPECT_EQ(arrived, 100);
    EXPECT_EQ(fetched_when_it_came_back, 2);
  });
}

TEST(pipelines, a_wait_inside_ends_when_its_end_has_come_and_the_item_is_through) {
  wait_inside_a_stream(filter_mode::parallel);
}
TEST(pipelines, a_wait_inside_ends_when_its_end_has_come_and_the_item_waits_for_its_turn) {
  wait_inside_a_stream(filter_mode::serial_in_order);
}

/// Counts itself; too large to travel as a word, so a filter's finalize() destroys what never arrived.
class counted_item {
 public:
  explicit counted_item(int n) : number(n) { ++alive; }
  counted_item(const counted_item& other) : number(other.number) { ++alive; }
  ~counted_item() { --alive; }
  int number;
  static inline int alive = 0;

 private:
  [[maybe_unused]] void* payload_[4] = {};
};

/// From here on nothing new is mapped, and the calling thread has no memory left for a task.
void use_up_task_memory() {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  for (std::size_t bytes = 512; bytes > 0; bytes -= 64) {
    try {
      for (tbb::detail::d1::small_object_pool* pool = nullptr;;)
        static_cast<void>(tbb::detail::r1::allocate(pool, bytes));
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

TEST(pipelines, without_memory_for_a_task_no_item_is_lost) {
  if constexpr (homing::platform::sanitizer_tracks_malloc) GTEST_SKIP() << "the sanitizer maps memory at any time";
  in_own_process({}, [] {
    const tbb::global_control alone(tbb::global_control::max_allowed_parallelism, 1);
    constexpr int items = 20;
    int next = 0;
    bool refused = false;
    tbb::task_group group;
    tbb::task_handle others_have_come = group.defer([] {});
    const auto all_wait_for_the_first = [&](const counted_item& i) {
      if (i.number == 0) group.wait();
      return i;
    };
    const auto refuse_memory = [&](const counted_item& i) {
      use_up_task_memory();
      refused = true;
      return i;
    };
    const auto input = [&](tbb::flow_control& control) {
      if (next == items) {
        others_have_come = {};
        control.stop();
      }
      return counted_item(next++);
    };
    EXPECT_THROW(
        tbb::parallel_pipeline(
            2 * items, tbb::make_filter<void, counted_item>(filter_mode::serial_in_order, input) &
                           tbb::make_filter<counted_item, counted_item>(filter_mode::parallel, all_wait_for_the_first) &
                           tbb::make_filter<counted_item, counted_item>(filter_mode::serial_in_order, refuse_memory) &
                           tbb::make_filter<counted_item, void>(filter_mode::parallel, [](const counted_item&) {})),
        std::bad_alloc);
    EXPECT_TRUE(refused);
    EXPECT_EQ(counted_item::alive, 0);
  });
}

// The input's body waits, and meanwhile runs the same filter's next call, which says stop.
TEST(pipelines, a_null_item_is_not_lost_where_its_input_waits) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_group group;
  group.run([] {});
  int calls = 0;
  int made = 0;
  int through = 0;
  const auto input = tbb::make_filter<void, int>(filter_mode::parallel, [&](tbb::flow_control& control) {
    const int call = ++calls;
    if (call > 3) {
      control.stop();
      return 0;
    }
    if (call == 1) group.wait();
    ++made;
    return 0;
  });
  tbb::parallel_pipeline(4, input & tbb::make_filter<int, void>(filter_mode::parallel, [&](int) { ++through; }));
  group.wait();
  EXPECT_EQ(made, 3);
  EXPECT_EQ(through, made);
}

class counted_filter final : public tbb::detail::d1::base_filter {
 public:
  explicit counted_filter(int& alive) : base_filter(filter_is_serial), alive_(alive) { ++alive_; }
  ~counted_filter() override { --alive_; }
  void* operator()(void* item) override { return item; }

 private:
  int& alive_;
};

/// Makes the filters of a pipeline as oneTBB's headers do, for the last of which there is no memory.
class counted_node final : public tbb::detail::d1::filter_node {
 public:
  counted_node(int& to_make, int& alive) : to_make_(to_make), alive_(alive) { add_ref(); }
  tbb::detail::d1::base_filter* create_filter() const override {
    if (to_make_-- == 0) throw std::bad_alloc();
    return new (tbb::detail::r1::allocate_memory(sizeof(counted_filter))) counted_filter(alive_);
  }

 private:
  int& to_make_;
  int& alive_;
};

TEST(pipelines, filters_that_were_made_end_where_a_later_one_can_not_be_made) {
  using tbb::detail::d1::filter_node;
  for (const int made : {0, 1, 2, 3}) {
    int left = made;
    int alive = 0;
    counted_node leaf(left, alive);
    filter_node two(&leaf, &leaf);
    two.add_ref();
    const filter_node three(&two, &leaf);
    tbb::task_group_context context;
    const auto make = [&] {
      const tbb::detail::r1::pipeline whole(context, 1, three);
      EXPECT_EQ(alive, 3);
    };
    if (made == 3) {
      make();
    } else {
      EXPECT_THROW(make(), std::bad_alloc);
    }
    EXPECT_EQ(left, made == 3 ? 0 : -1);
    EXPECT_EQ(alive, 0) << made << " were made";
  }
}

}  // namespace
