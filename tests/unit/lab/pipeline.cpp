// Time from dependences. Method: machine code as bytes, decoded, and run on a core whose figures are round; what it
// takes is what its registers, its window and its store buffer imply.
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "cpu.hpp"
#include "decode.hpp"
#include "pipeline.hpp"

namespace {

using namespace homing::lab::model;

using code = std::vector<std::uint8_t>;

std::vector<micro_op> decoded(std::initializer_list<code> instructions) {
  code all;
  std::vector<std::uint8_t> sizes;
  for (const code& one : instructions) {
    all.insert(all.end(), one.begin(), one.end());
    sizes.push_back(static_cast<std::uint8_t>(one.size()));
  }
  return decode(all, sizes);
}

core_shape shape() {
  core_shape s;
  s.window = 8;
  s.store_buffer = 2;
  s.load = 4;
  s.multiply = 3;
  s.float_add = 3;
  s.float_multiply = 5;
  s.locked = 20;
  s.pause = 40;
  return s;
}

const code add_rax_rax{0x48, 0x01, 0xc0}, add_rbx_rbx{0x48, 0x01, 0xdb}, imul_rax_rax{0x48, 0x0f, 0xaf, 0xc0},
    lea_rax_1{0x48, 0x8d, 0x40, 0x01}, lea_rbx_rax{0x48, 0x8d, 0x58, 0x01}, xor_eax_eax{0x31, 0xc0},
    pause_op{0xf3, 0x90}, mulsd_0_1{0xf2, 0x0f, 0x59, 0xc1}, addsd_0_1{0xf2, 0x0f, 0x58, 0xc1},
    load_rax_rax{0x48, 0x8b, 0x00}, load_rbx_rcx{0x48, 0x8b, 0x19}, store_rcx_rbx{0x48, 0x89, 0x19}, push_rax{0x50},
    movntdq{0x66, 0x0f, 0xe7, 0x07}, lock_inc{0xf0, 0xff, 0x07}, vfmadd231sd{0xc4, 0xe2, 0xf1, 0xb9, 0xc2};

/// When all is done, in cycles.
double takes(const std::vector<micro_op>& ops, unsigned times) {
  pipeline board(shape(), 1);
  ticks now = 0;
  for (unsigned i = 0; i != times; ++i) now = board.run(ops.data(), ops.data() + ops.size(), now);
  return static_cast<double>(std::max(now, board.drained())) / ticks_per_cycle;
}

TEST(LabPipeline, ChainsTakeTheirLatencies) {
  EXPECT_NEAR(takes(decoded({add_rax_rax}), 100), 100, 2);
  EXPECT_NEAR(takes(decoded({imul_rax_rax}), 100), 300, 3);
  EXPECT_NEAR(takes(decoded({mulsd_0_1, addsd_0_1}), 100), 800, 8);
}

TEST(LabPipeline, AnAddressThatIsMadeTakesItsTurnInAChain) {
  EXPECT_NEAR(takes(decoded({imul_rax_rax, lea_rax_1}), 200), 800, 8);
  EXPECT_NEAR(takes(decoded({imul_rax_rax, lea_rbx_rax}), 200), 600, 8) << "nothing waits for it";
}

TEST(LabPipeline, WhatIsIndependentRunsSideBySide) {
  EXPECT_NEAR(takes(decoded({add_rax_rax, add_rbx_rbx}), 100), 200, 2) << "bound by how many enter, one a cycle";
  EXPECT_NEAR(takes(decoded({imul_rax_rax, add_rbx_rbx}), 100), 300, 3) << "hidden behind the multiplications";
  EXPECT_NEAR(takes(decoded({imul_rax_rax, xor_eax_eax}), 100), 200, 4) << "a zero waits for nothing";
}

TEST(LabPipeline, PauseStopsTheCore) { EXPECT_NEAR(takes(decoded({pause_op}), 100), 4100, 2); }

TEST(LabPipeline, TheWindowBoundsWhatIsUnderWay) {
  const auto ops = decoded({load_rbx_rcx});
  pipeline board(shape(), 1);
  ticks now = 0;
  for (unsigned i = 0; i != 80; ++i) {  // independent loads, 100 cycles each, with any number of miss slots
    now = board.enter(now);
    const ticks at = board.address_ready(ops[0], now);
    board.loaded(ops[0], at + 100 * ticks_per_cycle, false);
  }
  EXPECT_NEAR(static_cast<double>(board.drained()) / ticks_per_cycle, 80 / 8 * 100, 120);
}

TEST(LabPipeline, AChaseWaitsForEachLoad) {
  const auto ops = decoded({load_rax_rax});
  pipeline board(shape(), 1);
  ticks now = 0;
  for (unsigned i = 0; i != 20; ++i) {
    now = board.enter(now);
    board.loaded(ops[0], board.address_ready(ops[0], now) + 100 * ticks_per_cycle, false);
  }
  EXPECT_NEAR(static_cast<double>(board.drained()) / ticks_per_cycle, 2000, 5);
}

TEST(LabPipeline, StoresWaitForAPlaceInTheBuffer) {
  const auto ops = decoded({store_rcx_rbx});
  pipeline board(shape(), 1);
  ticks now = 0;
  for (unsigned i = 0; i != 10; ++i) {
    now = board.enter(now);
    const ticks begun = board.store_ready(ops[0], now, false);
    board.stored(ops[0], begun, begun + 100 * ticks_per_cycle, false);
  }
  EXPECT_NEAR(static_cast<double>(board.drained()) / ticks_per_cycle, 500, 10) << "two at a time";
}

TEST(LabPipeline, ALockedOperationWaitsForAllBefore) {
  const auto ops = decoded({store_rcx_rbx, lock_inc});
  EXPECT_EQ(ops[1].kind, op_kind::locked);
  pipeline board(shape(), 1);
  ticks now = board.enter(0);
  board.stored(ops[0], now, 100 * ticks_per_cycle, false);
  now = board.enter(now);
  const ticks begun = board.quiet(ops[1], now);
  EXPECT_EQ(begun, 100 * ticks_per_cycle);
  EXPECT_EQ(board.locked(ops[1], begun), 120 * ticks_per_cycle);
}

TEST(LabPipeline, DecodesWhatMatters) {
  const auto ops = decoded({load_rax_rax, push_rax, movntdq, vfmadd231sd, xor_eax_eax});
  EXPECT_EQ(ops[0].address[0], registers::general);
  EXPECT_EQ(ops[0].results[0], registers::general);
  EXPECT_EQ(ops[0].sources[0], registers::none) << "a load's register is what it makes, not what it needs";
  EXPECT_EQ(ops[1].results[0], registers::sink) << "the stack pointer is kept aside";
  EXPECT_EQ(ops[2].kind, op_kind::non_temporal);
  EXPECT_EQ(ops[3].latency, latency_class::fused);
  EXPECT_EQ(ops[3].results[0], registers::vector);
  EXPECT_EQ(ops[4].sources[0], registers::none);
}

TEST(LabPipeline, AnythingIsAnInstruction) {
  const auto ops = decoded({{0x06}, {0xff, 0xff}});  // no instructions of this processor
  EXPECT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, op_kind::plain);
}

TEST(LabMissWindow, OneMoreWaitsForTheFirstThatIsDone) {
  miss_window window(2);
  window.issue(300);
  window.issue(100);
  EXPECT_EQ(window.room(50), 100U);
  window.issue(500);
  EXPECT_EQ(window.room(50), 300U);
  EXPECT_EQ(window.drained(), 500U);
}

}  // namespace
