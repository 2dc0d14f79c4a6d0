// Constraints of arenas: what no machine can have fails an assertion that names it, as oneTBB's does, and what this
// machine can have is what arenas get; and the handler that assertions go to.
#define TBB_PREVIEW_TASK_ARENA_CORE_TYPE_SELECTOR 1
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include "unit/common/await.hpp"
#include "unit/common/own_process.hpp"

namespace {

using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;

using constraints = tbb::task_arena::constraints;

struct failed_assertion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// While one lives, a failed assertion of the library throws.
class throwing_assertions {
 public:
  throwing_assertions() : before_(tbb::set_assertion_handler(&fail)) {}
  throwing_assertions(const throwing_assertions&) = delete;
  throwing_assertions& operator=(const throwing_assertions&) = delete;
  ~throwing_assertions() { tbb::set_assertion_handler(before_); }

 private:
  static void fail(const char*, int, const char*, const char* comment) {
    throw failed_assertion(comment != nullptr ? comment : "");
  }
  const tbb::assertion_handler_type before_;
};

/// The comment of the assertion that fails in `call`; empty if none does.
std::string assertion_of(const std::function<void()>& call) {
  const throwing_assertions handler;
  try {
    call();
    return {};
  } catch (const failed_assertion& failure) {
    return failure.what();
  }
}

/// Whoever asks for the size that `bad` allows is told which field is wrong.
void expect_refused(const constraints& bad, const std::string& field) {
  EXPECT_NE(assertion_of([&] { tbb::info::default_concurrency(bad); }).find(field), std::string::npos);
  tbb::task_arena arena(bad);
  EXPECT_NE(assertion_of([&] { static_cast<void>(arena.max_concurrency()); }).find(field), std::string::npos);
  EXPECT_NE(assertion_of([&] { arena.initialize(); }).find(field), std::string::npos);
  EXPECT_FALSE(arena.is_active());
}

/// Told its size, an arena with the same constraints runs, as it does in oneTBB.
void expect_to_run(constraints bad) {
  bad.set_max_concurrency(3);
  EXPECT_EQ(assertion_of([&] { EXPECT_EQ(tbb::info::default_concurrency(bad), 3); }), "");
  EXPECT_EQ(assertion_of([&] {
              tbb::task_arena arena(bad);
              EXPECT_EQ(arena.max_concurrency(), 3);
              std::atomic<bool> over{false};
              arena.enqueue([&] { over = true; });
              await("a task enqueued in an arena with constraints that mean nothing", [&] { return over.load(); });
            }),
            "");
}

TEST(constraints, fewer_than_one_thread_a_core_fail_an_assertion) {
  for (const int threads : {0, -2, std::numeric_limits<int>::min()}) {
    SCOPED_TRACE(threads);
    expect_refused(constraints{}.set_max_threads_per_core(threads), "max_threads_per_core");
    expect_to_run(constraints{}.set_max_threads_per_core(threads));
  }
}

TEST(constraints, unknown_core_types_fail_an_assertion) {
  // -2 is task_arena::selectable, which nobody has resolved here.
  for (const int type : {99, -2, -3}) {
    SCOPED_TRACE(type);
    expect_refused(constraints{}.set_core_type(type), "core_type");
    expect_to_run(constraints{}.set_core_type(type));
  }
}

TEST(constraints, unknown_nodes_fail_an_assertion) {
  for (const int node : {99, -2, -3}) {
    SCOPED_TRACE(node);
    expect_refused(constraints{}.set_numa_id(node), "numa_id");
  }
  if (tbb::info::numa_nodes().size() == 1) {
    expect_to_run(constraints{}.set_numa_id(99));
  }
}

TEST(constraints, all_that_are_known_are_taken) {
  EXPECT_EQ(assertion_of([] {
              for (const int node : tbb::info::numa_nodes()) {
                for (const int type : tbb::info::core_types()) {
                  for (const int threads : {-1, 1, 2, 1000}) {
                    const auto known =
                        constraints{}.set_numa_id(node).set_core_type(type).set_max_threads_per_core(threads);
                    tbb::task_arena arena(known);
                    EXPECT_EQ(arena.max_concurrency(), tbb::info::default_concurrency(known));
                    arena.execute([] {});
                    EXPECT_EQ(arena.max_concurrency(), tbb::info::default_concurrency(known));
                  }
                }
              }
            }),
            "");
}

TEST(constraints, an_arena_without_reserved_slots_for_each_node) {
  const auto nodes = tbb::info::numa_nodes();
  auto arenas = tbb::create_numa_task_arenas();
  ASSERT_EQ(arenas.size(), nodes.size());
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    EXPECT_FALSE(arenas[i].is_active()) << "settings may still be changed";
    EXPECT_EQ(arenas[i].max_concurrency(), tbb::info::default_concurrency(nodes[i]));
    tbb::task_group group;
    std::atomic<int> runs{0};
    arenas[i].enqueue([&] { ++runs; }, group);
    EXPECT_EQ(arenas[i].wait_for(group), tbb::task_group_status::complete);
    EXPECT_EQ(runs, 1);
  }
  for (auto& arena : tbb::create_numa_task_arenas(constraints{}.set_numa_id(99).set_max_concurrency(2), 1)) {
    EXPECT_EQ(arena.max_concurrency(), 2) << "the node given is ignored, the rest is taken";
  }
}

/// Counts its calls, which come once for each core type and in their order.
struct recording_selector {
  int* calls;
  int score;
  int operator()(std::tuple<tbb::core_type_id, std::size_t, std::size_t> type) const {
    EXPECT_EQ(std::get<1>(type), static_cast<std::size_t>(*calls));
    EXPECT_EQ(std::get<2>(type), tbb::info::core_types().size());
    ++*calls;
    return score;
  }
};

TEST(constraints, a_selector_is_asked_for_selectable_alone) {
  for (const int score : {-1, 0, 1}) {
    int calls = 0;
    tbb::task_arena arena(constraints{}.set_core_type(tbb::task_arena::selectable), recording_selector{&calls, score});
    EXPECT_EQ(arena.max_concurrency(), tbb::info::default_concurrency());
    arena.execute([] {});
    const std::size_t types = tbb::info::core_types().size();
    EXPECT_EQ(static_cast<std::size_t>(calls), types < 2 ? 0 : types);
    calls = 0;
    tbb::task_arena plain(constraints{}, recording_selector{&calls, score});
    EXPECT_EQ(calls, 0);
  }
}

// By the index, from the least efficient up.
struct all_but {
  std::size_t left_out;
  int operator()(std::tuple<tbb::core_type_id, std::size_t, std::size_t> type) const {
    return std::get<1>(type) == left_out ? -1 : 1;
  }
};

TEST(constraints, a_selector_takes_several_core_types_of_more) {
  if (std::getenv("HOMING_TEST_STOCK") != nullptr) {
    GTEST_SKIP() << "a made-up machine";
  }
  in_own_process(on_machine(HOMING_TEST_DATA "/topology/three_core_types.xml"), [] {
    ASSERT_EQ(tbb::info::core_types().size(), 3U);
    const auto selectable = constraints{}.set_core_type(tbb::task_arena::selectable);
    const int cpus[] = {4, 2, 2};
    for (std::size_t type = 0; type < 3; ++type) {
      SCOPED_TRACE(type);
      const int expected = 8 - cpus[type];
      EXPECT_EQ(tbb::info::default_concurrency(selectable, all_but{type}), expected);
      tbb::task_arena arena(selectable, all_but{type});
      EXPECT_EQ(arena.max_concurrency(), expected);
      arena.initialize();
      EXPECT_EQ(arena.max_concurrency(), expected);
      tbb::task_arena late;
      late.initialize(selectable, all_but{type});
      EXPECT_EQ(late.max_concurrency(), expected);
    }
  });
}

void first_handler(const char*, int, const char*, const char*) {}
void second_handler(const char*, int, const char*, const char*) {}

TEST(assertion_handler, is_handed_back_by_the_next) {
  const tbb::assertion_handler_type standard = tbb::get_assertion_handler();
  ASSERT_NE(standard, nullptr);
  EXPECT_EQ(tbb::set_assertion_handler(&first_handler), standard);
  EXPECT_EQ(tbb::get_assertion_handler(), &first_handler);
  EXPECT_EQ(tbb::set_assertion_handler(&second_handler), &first_handler);
  EXPECT_EQ(tbb::set_assertion_handler(nullptr), &second_handler) << "null restores the library's own";
  EXPECT_EQ(tbb::get_assertion_handler(), standard);
}

TEST(assertion_handler, gets_what_the_headers_assert) {
  static std::string seen;
  const tbb::assertion_handler_type before =
      tbb::set_assertion_handler([](const char* location, int line, const char* expression, const char* comment) {
        seen = std::string(location) + ":" + std::to_string(line) + ":" + expression + ":" +
               (comment != nullptr ? comment : "none");
      });
  tbb::detail::r1::assertion_failure("here", 7, "a == b", nullptr);
  EXPECT_EQ(seen, "here:7:a == b:none");
  tbb::detail::r1::assertion_failure("there", 8, "a == c", "why");
  EXPECT_EQ(seen, "there:8:a == c:why");
  tbb::set_assertion_handler(before);
}

TEST(assertion_handler_death, without_one_the_process_ends_with_the_text) {
  EXPECT_DEATH(tbb::detail::r1::assertion_failure("here", 7, "a == b", "why"), "a == b.*\n?.*why");
}

}  // namespace
