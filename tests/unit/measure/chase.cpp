/// Property: a chase is one cycle through every line, and hard to guess; a paced load counts what it reads; measured
/// memory is told truly where the system calls are refused. Method: small buffers, and a sandbox.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "latency/run.hpp"
#include "measure/chase.hpp"
#include "measure/load.hpp"
#include "measure/stream.hpp"
#include "unit/common/sandbox.hpp"

namespace homing::measure {
namespace {

TEST(chase, is_one_cycle_through_all_lines_of_any_count) {
  for (const std::size_t lines : {2U, 3U, 4U, 5U, 64U, 1000U, 4097U}) {
    for (const std::size_t line_bytes : {16U, 64U, 128U}) {
      std::vector<std::byte> memory(lines * line_bytes);
      const chase_cycle cycle(memory.data(), memory.size(), line_bytes, lines);
      EXPECT_EQ(cycle.lines(), lines);
      EXPECT_EQ(cycle.length(), lines);
      std::set<const void*> seen;
      const void* at = cycle.start();
      for (std::size_t i = 0; i < lines; ++i) {
        EXPECT_EQ((static_cast<const std::byte*>(at) - memory.data()) % static_cast<std::ptrdiff_t>(line_bytes), 0);
        EXPECT_TRUE(seen.insert(at).second);
        at = chase_cycle::walk(at, 1);
      }
      EXPECT_EQ(at, cycle.start());
    }
  }
}

TEST(chase, walks_as_many_steps_as_it_is_told) {
  std::vector<std::byte> memory(100 * 64);
  const chase_cycle cycle(memory.data(), memory.size(), 64, 1);
  for (const std::size_t steps : {0U, 1U, 7U, 8U, 9U, 99U, 250U}) {
    const void* at = cycle.start();
    for (std::size_t i = 0; i < steps; ++i) at = chase_cycle::walk(at, 1);
    EXPECT_EQ(chase_cycle::walk(cycle.start(), steps), at) << steps;
  }
}

TEST(chase, that_is_broken_is_found_out) {
  std::vector<std::byte> memory(100 * 64);
  const chase_cycle cycle(memory.data(), memory.size(), 64, 1);
  // A line that leads to itself; and one that leads back to the start too early.
  const auto* second = static_cast<const std::byte*>(chase_cycle::walk(cycle.start(), 50));
  std::byte* line = memory.data() + (second - memory.data());
  const void* to = line;
  std::memcpy(line, &to, sizeof(to));
  EXPECT_EQ(cycle.length(), 0U);
  to = cycle.start();
  std::memcpy(line, &to, sizeof(to));
  EXPECT_EQ(cycle.length(), 51U);
}

TEST(chase, has_no_stride_that_a_prefetcher_could_learn) {
  constexpr std::size_t lines = 10000;
  std::vector<std::byte> memory(lines * 64);
  const chase_cycle cycle(memory.data(), memory.size(), 64, 3);
  std::size_t near = 0;    // to a neighbour: 2 of 9999 by chance
  std::size_t repeat = 0;  // the same stride twice
  std::ptrdiff_t last_stride = 0;
  const auto* at = static_cast<const std::byte*>(cycle.start());
  for (std::size_t i = 0; i < lines; ++i) {
    const auto* next = static_cast<const std::byte*>(chase_cycle::walk(at, 1));
    const std::ptrdiff_t stride = next - at;
    near += stride == 64 || stride == -64;
    repeat += stride == last_stride;
    last_stride = stride;
    at = next;
  }
  EXPECT_LT(near, 30U);
  EXPECT_LT(repeat, 30U);
}

TEST(load, counts_whole_chunks_until_it_is_stopped) {
  paced_load load(2, 5 * paced_load::chunk_bytes, node_index{0}, page_wish::system);
  load.touch(0);
  load.touch(1);
  load.reset();
  std::thread first([&] { load.read(0, 0); });
  std::thread second([&] { load.read(1, 1000); });
  while (load.bytes_read() < 100 * paced_load::chunk_bytes) std::this_thread::yield();
  load.stop();
  first.join();
  second.join();
  EXPECT_EQ(load.bytes_read() % paced_load::chunk_bytes, 0U);
  load.reset();
  EXPECT_EQ(load.bytes_read(), 0U);
}

TEST(latency, walks_every_pair_and_draws_every_curve) {
  plan p = make_plan("all", std::nullopt);
  ASSERT_EQ(p.error, "");
  p.cpu_nodes[0].cpus = {cpu_id{0}, cpu_id{0}};  // a walker and a reader, also on a machine with one CPU
  const latency_wishes wishes{2, page_wish::base, 1U << 16, true};
  latency_figures figures = list_walks(p, wishes);
  std::size_t reports = 0;
  walk_all(p, wishes, figures, [&](std::size_t, std::size_t, const std::string&) { ++reports; });
  ASSERT_EQ(figures.idle.size(), p.cpu_nodes.size() * p.memory_nodes.size());
  EXPECT_TRUE(figures.idle[0].is_complete);
  EXPECT_EQ(figures.idle[0].ns.samples.size(), 2U);
  EXPECT_EQ(figures.idle[0].memory.huge, 0U);
  const loaded_curve& curve = figures.loaded.at(0);
  EXPECT_TRUE(curve.is_complete);
  EXPECT_EQ(curve.readers, 1U);
  EXPECT_EQ(curve.points.size(), 11U);
  EXPECT_GE(reports, figures.idle.size() + curve.points.size());
}

// Where nothing can be placed or asked, /proc tells; what is said of the memory stays true.
TEST(placed_buffer, tells_the_truth_in_a_sandbox) {
  homing::testing::in_sandbox(homing::testing::docker, [](int) {
    const plan p = make_plan("all", std::nullopt);
    for (const memory_node& m : p.memory_nodes) {
      placed_buffer memory(1U << 20, m.index, page_wish::base);
      std::memset(memory.data(), 1, memory.bytes());
      const memory_fact fact = memory.fact();
      EXPECT_EQ(fact.bytes, 1U << 20);
      EXPECT_EQ(fact.is_placed(), fact.at_home == fact.bytes) << fact.why_not;
      EXPECT_TRUE(fact.is_placed() || m.is_tier) << "a thread of the node touches it first; " << fact.why_not;
    }
  });
}

TEST(placed_buffer, counts_what_was_touched_and_says_what_pages_it_got) {
  placed_buffer memory(1U << 20, make_plan("all", std::nullopt).memory_nodes.front().index, page_wish::base);
  EXPECT_EQ(memory.fact().bytes, 0U);
  EXPECT_TRUE(memory.fact().is_placed()) << "nothing is elsewhere";
  std::memset(memory.data(), 1, 3 * page_bytes());
  EXPECT_EQ(memory.fact().bytes, 3 * page_bytes());
  EXPECT_EQ(memory.fact().huge, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2U << 20), 0U) << "huge pages fit";
}

}  // namespace
}  // namespace homing::measure
