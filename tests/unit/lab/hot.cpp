// Property: a line moves when a CPU takes it from another core, and the watch says who took it, where in the line and
// from how far; lines that nobody fights for are not in it, and of too many lines those that moved most stay. Method:
// made-up machines and accesses, played by hand.
#include <gtest/gtest.h>

#include <deque>

#include "hot_code.hpp"
#include "hot_lines.hpp"
#include "unit/common/lab_machine_text.hpp"

namespace homing::lab::model {
namespace {

class Movement : public ::testing::Test {
 protected:
  Movement() {
    map.learn(0, 0);
    map.learn(2 << 20, 1);
    EXPECT_EQ(map.settle(), "");
    for (unsigned cpu = 0; cpu != m.cpus(); ++cpu) {
      cpus.emplace_back(m.cpu_core[cpu], m.cpu_l3[cpu], m.cpu_node[cpu], m.overlap, system.layout());
      cpus.back().watched = true;
    }
  }
  movement by(unsigned cpu, access_kind kind, std::uint64_t line = 5) {
    cpus[cpu].moved = movement::none;
    system.access(cpus[cpu], line, line, kind, who::program);
    return cpus[cpu].moved;
  }

  machine m = lab_test::machine();
  memory_map map{m};
  memory_system system{m, map};
  std::deque<cpu_state> cpus;
};

TEST_F(Movement, IsALoadOfWhatAnotherCoreWrote) {
  EXPECT_EQ(by(0, access_kind::store), movement::none);
  EXPECT_EQ(by(0, access_kind::load), movement::none);
  EXPECT_EQ(by(1, access_kind::load), movement::between_caches);
  EXPECT_EQ(by(1, access_kind::load), movement::none);
  EXPECT_EQ(by(2, access_kind::load), movement::between_nodes);
}

TEST_F(Movement, IsAStoreToWhatOthersHold) {
  EXPECT_EQ(by(0, access_kind::load), movement::none);
  EXPECT_EQ(by(1, access_kind::load), movement::none) << "nobody wrote it";
  EXPECT_EQ(by(0, access_kind::store), movement::between_caches);
  EXPECT_EQ(by(3, access_kind::atomic), movement::between_nodes);
  EXPECT_EQ(by(3, access_kind::atomic), movement::none);
  EXPECT_EQ(by(2, access_kind::store), movement::between_caches);
}

seen_access access_of(std::uint64_t address, access_kind kind, movement moved, std::uint64_t instruction = 0x400000) {
  return {.instruction = instruction,
          .address = address,
          .physical_line = address >> 6,
          .bytes = 8,
          .kind = kind,
          .moved = moved,
          .waited = 7};
}

TEST(HotLines, KeepWhoUsesWhichBytes) {
  hot_lines lines(4);
  lines.note(0, access_of(0x1000, access_kind::load, movement::none));  // before it moved: not of interest
  for (unsigned i = 0; i != 3; ++i) {
    lines.note(0, access_of(0x1000, access_kind::atomic, movement::between_nodes));
    lines.note(2, access_of(0x1008, access_kind::store, movement::between_caches, 0x400010));
    lines.note(2, access_of(0x1008, access_kind::load, movement::none, 0x400010));
  }
  const line_sums sums = lines.sums(10);
  ASSERT_EQ(sums.most.size(), 1U);
  EXPECT_EQ(sums.moves, 6U);
  EXPECT_EQ(sums.far_moves, 3U);
  const line_sum& line = sums.most[0];
  EXPECT_EQ(line.name.virtual_line, 0x1000U >> 6);
  ASSERT_EQ(line.by_cpu.size(), 2U);
  const line_use& first = line.by_cpu.at(0);
  ASSERT_EQ(first.sites.size(), 1U);
  EXPECT_EQ(first.sites[0].atomics, 3U);
  EXPECT_EQ(first.sites[0].loads, 0U);
  EXPECT_EQ(first.sites[0].bytes, 8U);
  const line_use& second = line.by_cpu.at(2);
  ASSERT_EQ(second.sites.size(), 1U);
  EXPECT_EQ(second.sites[0].offset, 8U);
  EXPECT_EQ(second.sites[0].stores, 3U);
  EXPECT_EQ(second.sites[0].loads, 3U);
  EXPECT_EQ(second.sites[0].moves, 3U);
  EXPECT_EQ(second.waited, 42U);
}

TEST(HotLines, OfTooManyThoseThatMovedMostStay) {
  hot_lines lines(1, 100);
  const auto move = [&](std::uint64_t line) {
    lines.note(0, access_of(line * 64, access_kind::store, movement::between_caches));
  };
  for (std::uint64_t i = 0; i != 5; ++i) move(1);
  for (std::uint64_t line = 1000; line != 2000; ++line) move(line);
  const line_sums sums = lines.sums(3);
  ASSERT_EQ(sums.most.size(), 3U);
  EXPECT_EQ(sums.most[0].name.virtual_line, 1U);
  EXPECT_EQ(sums.most[0].moves, 5U);
  EXPECT_LE(sums.lines, 100U);
  EXPECT_EQ(sums.moves + sums.forgotten_moves, 1005U);
}

TEST(HotLines, OfThoseThatMovedEquallyOftenOnlyHalfGo) {
  hot_lines lines(1, 8);
  for (std::uint64_t line = 1; line != 10; ++line) {
    lines.note(0, access_of(line * 64, access_kind::store, movement::between_caches));
  }
  const line_sums sums = lines.sums(10);
  EXPECT_EQ(sums.lines, 5U);
  EXPECT_EQ(sums.forgotten_moves, 4U);
}

TEST(HotLines, TheKernelsOwnAreOnlyCounted) {
  hot_lines lines(1);
  lines.note(0, access_of(0xffff888000001000, access_kind::store, movement::between_nodes));
  const line_sums sums = lines.sums(3);
  EXPECT_TRUE(sums.most.empty());
  EXPECT_EQ(sums.kernel_moves, 1U);
}

TEST(HotCode, ABlocksTimeEndsWhenTheNextBegins) {
  const count_layout layout(1, 0);
  cpu_state cpu(0, 0, 0, 1, layout);
  hot_code code(1);
  auto* const first = code.block(0x400000, who::program);
  auto* const second = code.block(0x400040, who::program);
  EXPECT_EQ(code.block(0x400000, who::program), first);
  code.begin(0, cpu, first, 10);
  cpu.advance_to(100);
  code.begin(0, cpu, second, 5);
  cpu.catch_up(1000);  // idle: nobody's time
  cpu.advance_to(1030);
  code.begin(0, cpu, code.block(0xffffffff81000000, who::kernel), 3);
  cpu.advance_to(1031);
  code.begin(0, cpu, first, 10);
  const hot_code::code_sums sums = code.sums();
  ASSERT_EQ(sums.program.size(), 2U);
  EXPECT_EQ(sums.program[0].instructions, 20U);
  EXPECT_EQ(sums.program[0].time, 100U);
  EXPECT_EQ(sums.program[1].instructions, 5U);
  EXPECT_EQ(sums.program[1].time, 30U);
  EXPECT_EQ(sums.kernel.instructions, 3U);
  EXPECT_EQ(sums.kernel.time, 1U);
}

}  // namespace
}  // namespace homing::lab::model
