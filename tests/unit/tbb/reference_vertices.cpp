// Who adds tasks to a wait that is not its own counts them in a vertex of its thread's: the wait is over when all of
// them are, whoever has run them, and when.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "unit/common/forked_child.hpp"

namespace {

using homing::testing::child_can;
using tbb::detail::d1::wait_tree_vertex_interface;
using tbb::detail::r1::get_thread_reference_vertex;

/// A wait that counts how it is used.
struct counting_wait final : wait_tree_vertex_interface {
  void reserve(std::uint32_t delta) override { count += static_cast<int>(delta); }
  void release(std::uint32_t delta) override { count -= static_cast<int>(delta); }
  std::atomic<int> count{0};
};

void in_a_thread(const std::function<void()>& body) { std::thread(body).join(); }

/// The thread has used the library.
void enter() { tbb::task_group().wait(); }

TEST(reference_vertices, a_wait_in_the_callers_frames_counts_itself) {
  enter();
  counting_wait own;
  EXPECT_EQ(get_thread_reference_vertex(&own), &own);
}

/// Its wait is in a frame of the same stack, far above.
[[gnu::noinline]] wait_tree_vertex_interface* vertex_from_far_below(counting_wait& wait) {
  std::array<std::byte, std::size_t{128} << 10U> between;
  asm volatile("" : : "r"(&between) : "memory");  // it is there, and stays
  wait_tree_vertex_interface* const result = get_thread_reference_vertex(&wait);
  asm volatile("" : : "r"(&between) : "memory");
  return result;
}

TEST(reference_vertices, a_wait_far_above_has_a_vertex) {
  enter();
  counting_wait above;
  wait_tree_vertex_interface* const mine = vertex_from_far_below(above);
  ASSERT_NE(mine, &above);
  mine->reserve(2);
  EXPECT_EQ(above.count, 1);
  mine->release(2);
  EXPECT_EQ(above.count, 0);
}

TEST(reference_vertices, one_serves_a_wait_that_begins_where_another_ended) {
  enter();
  alignas(counting_wait) static std::byte place[sizeof(counting_wait)];
  for (int round = 0; round < 3; ++round) {
    auto* const wait = new (place) counting_wait;
    wait_tree_vertex_interface* const mine = get_thread_reference_vertex(wait);
    ASSERT_NE(mine, wait);
    mine->reserve(1);
    EXPECT_EQ(wait->count, 1);
    in_a_thread([&] { mine->release(1); });
    EXPECT_EQ(wait->count, 0);
    wait->~counting_wait();
  }
}

TEST(reference_vertices, a_threads_tasks_count_as_one) {
  enter();
  const auto wait = std::make_unique<counting_wait>();
  wait_tree_vertex_interface* const mine = get_thread_reference_vertex(wait.get());
  ASSERT_NE(mine, wait.get());
  EXPECT_EQ(get_thread_reference_vertex(wait.get()), mine);
  for (int i = 0; i < 3; ++i) mine->reserve(1);
  mine->reserve(4);
  EXPECT_EQ(wait->count, 1);
  in_a_thread([&] {
    enter();
    wait_tree_vertex_interface* const its = get_thread_reference_vertex(wait.get());
    EXPECT_NE(its, mine);
    its->reserve(1);
    EXPECT_EQ(wait->count, 2);
    its->release(1);
    mine->release(6);
  });
  EXPECT_EQ(wait->count, 1);
  mine->release(1);
  EXPECT_EQ(wait->count, 0);
}

TEST(reference_vertices, of_more_waits_than_a_thread_has_vertices_each_is_counted) {
  enter();
  constexpr std::size_t many = 100;
  std::vector<std::unique_ptr<counting_wait>> waits;
  std::vector<wait_tree_vertex_interface*> vertices;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < many; ++i) {
    waits.push_back(std::make_unique<counting_wait>());
    vertices.push_back(get_thread_reference_vertex(waits.back().get()));
    vertices.back()->reserve(2);
    plain += vertices.back() == waits.back().get() ? 1 : 0;
  }
  EXPECT_GT(plain, 0U);
  EXPECT_LT(plain, many);
  for (std::size_t i = 0; i < many; ++i) {
    EXPECT_GT(waits[i]->count, 0);
    vertices[i]->release(1);
    EXPECT_GT(waits[i]->count, 0);
    vertices[i]->release(1);
    EXPECT_EQ(waits[i]->count, 0);
  }
  EXPECT_NE(get_thread_reference_vertex(waits[0].get()), waits[0].get());  // they are free again
}

TEST(reference_vertices, outlive_their_thread) {
  const auto wait = std::make_unique<counting_wait>();
  wait_tree_vertex_interface* its = nullptr;
  in_a_thread([&] {
    enter();
    its = get_thread_reference_vertex(wait.get());
    its->reserve(2);
  });
  in_a_thread([] { enter(); });  // it has the record of the one that ended, perhaps
  EXPECT_EQ(wait->count, 1);
  its->release(2);
  EXPECT_EQ(wait->count, 0);
}

TEST(reference_vertices, a_child_of_a_fork_counts_anew) {
  enter();
  const auto wait = std::make_unique<counting_wait>();
  wait_tree_vertex_interface* const before = get_thread_reference_vertex(wait.get());
  before->reserve(1);  // as by a task that another thread will never end in the child
  EXPECT_TRUE(child_can([&] {
    wait->count = 0;
    wait_tree_vertex_interface* const now = get_thread_reference_vertex(wait.get());
    now->reserve(1);
    const bool counts = now != before && wait->count == 1;
    now->release(1);
    return counts && wait->count == 0;
  }));
  before->release(1);
}

TEST(reference_vertices, all_threads_add_to_one_group) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 8);
  tbb::task_arena arena(8);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    const auto group = std::make_unique<tbb::task_group>();
    const std::function<void(int)> add = [&](int depth) {
      ++ran;
      for (int i = 0; depth > 0 && i < 3; ++i) group->run([&add, depth] { add(depth - 1); });
    };
    arena.execute([&] {
      group->run([&] { add(4); });
      EXPECT_EQ(group->wait(), tbb::complete);
    });
    ASSERT_EQ(ran, 1 + 3 + 9 + 27 + 81);
  }
}

TEST(reference_vertices, a_group_that_all_threads_add_to_ends_by_what_one_throws) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 8);
  tbb::task_arena arena(8);
  for (int round = 0; round < 200; ++round) {
    const auto group = std::make_unique<tbb::task_group>();
    const std::function<void(int)> add = [&](int depth) {
      if (depth == 0) throw std::runtime_error("the deepest");
      for (int i = 0; i < 3; ++i) group->run([&add, depth] { add(depth - 1); });
    };
    arena.execute([&] {
      group->run([&] { add(4); });
      EXPECT_THROW(group->wait(), std::runtime_error);
    });
  }
}

}  // namespace
