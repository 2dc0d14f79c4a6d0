// AArch64 for the lab. Method: instructions as the assembler encodes them; what the plugin takes for a mark, for a
// locked operation and for a system call, and which registers the scoreboard lets an instruction wait for and make.
#include <homing/lab.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "code_aarch64.hpp"
#include "instruction_set.hpp"
#include "machine.hpp"
#include "pipeline.hpp"

namespace {

using namespace homing::lab::model;

std::array<std::uint8_t, 4> bytes(std::uint32_t word) {
  return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word >> 16),
          static_cast<std::uint8_t>(word >> 24)};
}

micro_op decoded(std::uint32_t word) { return aarch64_instructions.decode(bytes(word)); }

template <class List>
std::set<int> in(const List& list) {
  std::set<int> result(list.begin(), list.end());
  result.erase(registers::none);
  result.erase(registers::sink);
  return result;
}

using set = std::set<int>;
constexpr int v0 = registers::aarch64_vector, sp = registers::aarch64_stack_pointer, flags = registers::aarch64_flags;

TEST(LabAArch64, MarksAreKnown) {
  EXPECT_EQ(aarch64::mark_of(bytes(0x3969087f)), HOMING_LAB_OPEN);  // ldrb wzr, [x3, #0xa42]
  EXPECT_FALSE(aarch64::mark_of(bytes(0x39690861)));                // ldrb w1, [x3, #0xa42]
  EXPECT_FALSE(aarch64::mark_of(bytes(0x3969247f)));                // ldrb wzr, [x3, #0xa49]
  EXPECT_FALSE(aarch64::mark_of(bytes(0x3940007f)));                // ldrb wzr, [x3]
}

TEST(LabAArch64, LockedOperationsAndCallsAreKnown) {
  // ldadd, cas, casp, swpal, stadd, stxr, stlxp
  for (const std::uint32_t word :
       {0xf8210062U, 0xc8a17c62U, 0x48227cc4U, 0xb8e18062U, 0xf821007fU, 0xc8047c61U, 0xc8248861U}) {
    EXPECT_TRUE(aarch64::is_locked(bytes(word))) << std::hex << word;
    EXPECT_EQ(decoded(word).kind, op_kind::locked) << std::hex << word;
  }
  // ldapr, ldxr, ldar, stlr, ldr, str
  for (const std::uint32_t word : {0xf8bfc061U, 0xc85f7c61U, 0xc8dffc61U, 0xc89ffc61U, 0xf9400041U, 0xf8008441U}) {
    EXPECT_FALSE(aarch64::is_locked(bytes(word))) << std::hex << word;
    EXPECT_EQ(decoded(word).kind, op_kind::plain) << std::hex << word;
  }
  EXPECT_TRUE(aarch64::is_system_call(bytes(0xd4000001)));
  EXPECT_FALSE(aarch64::is_system_call(bytes(0xd4000002)));  // hvc
}

TEST(LabAArch64, BarriersAndPauses) {
  EXPECT_EQ(decoded(0xd503203f).kind, op_kind::pause);       // yield
  EXPECT_EQ(decoded(0xd5033fdf).kind, op_kind::pause);       // isb
  EXPECT_EQ(decoded(0xd5033bbf).kind, op_kind::fence);       // dmb ish
  EXPECT_EQ(decoded(0xd50339bf).kind, op_kind::load_fence);  // dmb ishld
  EXPECT_EQ(decoded(0xd5033abf).kind, op_kind::plain);       // dmb ishst
}

TEST(LabAArch64, LoadsMakeTheirRegistersAndNoBase) {
  const micro_op post = decoded(0xf8408441), pair = decoded(0xa9c10861), vector = decoded(0x3ce27820);
  EXPECT_EQ(in(post.address), set({2}));  // ldr x1, [x2], #8
  EXPECT_EQ(in(post.results), set({1}));
  EXPECT_EQ(in(pair.results), set({1, 2}));    // ldp x1, x2, [x3, #16]!
  EXPECT_EQ(in(vector.address), set({1, 2}));  // ldr q0, [x1, x2, lsl #4]
  EXPECT_EQ(in(vector.results), set({v0}));
}

TEST(LabAArch64, StoresMakeNothing) {
  const micro_op pair = decoded(0xa9bf0be1), exclusive = decoded(0xc8047c61);
  EXPECT_EQ(in(pair.address), set({sp}));  // stp x1, x2, [sp, #-16]!
  EXPECT_EQ(in(pair.sources), set({1, 2}));
  EXPECT_EQ(in(pair.results), set());
  EXPECT_EQ(in(exclusive.sources), set({1}));  // stxr w4, x1, [x3]
  EXPECT_EQ(in(exclusive.results), set({4}));
}

TEST(LabAArch64, AtomicsWaitForTheirOperandsAndMakeTheOldValue) {
  const micro_op update = decoded(0xf8210062), compare = decoded(0xc8a17c62);
  EXPECT_EQ(in(update.address), set({3}));  // ldadd x1, x2, [x3]
  EXPECT_EQ(in(update.sources), set({1}));
  EXPECT_EQ(in(update.results), set({2}));
  EXPECT_EQ(in(compare.sources), set({1, 2}));  // cas x1, x2, [x3]
  EXPECT_EQ(in(compare.results), set({1}));
}

TEST(LabAArch64, FlagsGoFromComparisonsToBranches) {
  const micro_op compare = decoded(0xeb01001f), select = decoded(0x9a820020), branch = decoded(0x54000001);
  EXPECT_EQ(in(compare.sources), set({0, 1}));  // cmp x0, x1
  EXPECT_EQ(in(compare.results), set({flags}));
  EXPECT_EQ(in(select.sources), set({1, 2, flags}));  // csel x0, x1, x2, eq
  EXPECT_EQ(in(branch.sources), set({flags}));        // b.ne
}

TEST(LabAArch64, WhatIsUpdatedIsReadToo) {
  EXPECT_EQ(in(decoded(0x4e62cc20).sources), set({v0, v0 + 1, v0 + 2}));  // fmla v0.2d, v1.2d, v2.2d
  EXPECT_EQ(in(decoded(0xf2a00020).sources), set({0}));                   // movk x0, #1, lsl #16
  EXPECT_EQ(in(decoded(0xaa0103e0).sources), set({1}));                   // mov x0, x1
  EXPECT_EQ(decoded(0x4e62cc20).latency, latency_class::fused);
  EXPECT_EQ(decoded(0x9b010800).latency, latency_class::multiply);  // madd
  EXPECT_EQ(decoded(0x9ac10c00).latency, latency_class::divide);    // sdiv
}

/// When `times` of them are done, in cycles.
double takes(std::initializer_list<std::uint32_t> words, unsigned times) {
  core_shape shape;
  shape.multiply = 3;
  shape.float_add = 6;
  shape.float_multiply = 6;
  pipeline board(shape, 1);
  ticks now = 0;
  for (unsigned i = 0; i != times; ++i) {
    for (const std::uint32_t word : words) {
      const micro_op op = decoded(word);
      now = board.run(&op, &op + 1, now);
    }
  }
  return static_cast<double>(std::max(now, board.drained())) / ticks_per_cycle;
}

TEST(LabAArch64, ChainsTakeTheirLatencies) {
  EXPECT_NEAR(takes({0x8b000000}, 100), 100, 2);                // add x0, x0, x0
  EXPECT_NEAR(takes({0x9b007c00}, 100), 300, 3);                // mul x0, x0, x0
  EXPECT_NEAR(takes({0x1e610800, 0x1e612800}, 100), 1200, 12);  // fmul, fadd d0, d0, d1
}

TEST(LabAArch64, TargetsAreChosenByName) {
  use_instructions_of("aarch64");
  EXPECT_EQ(&guest_instructions(), &aarch64_instructions);
  use_instructions_of("x86_64");
  EXPECT_EQ(&guest_instructions(), &x86_64_instructions);
  EXPECT_THROW(use_instructions_of("riscv64"), machine_error);
}

}  // namespace
