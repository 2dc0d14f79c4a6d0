// The lines that a CPU used last are in the cache nearest to its core, however they came there. Method: a chain of
// loads as the plugin hands it over, each of the address that the one before loaded; cycles from one to the next.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory_resource>
#include <vector>

#include "session.hpp"
#include "unit/common/lab_machine_text.hpp"
#include "unit/common/temporary_path.hpp"

namespace {

using namespace homing::lab::model;

machine with_two_latencies() {
  machine m = lab_test::machine();
  m.private_cache.latency_ns = 10;
  m.core.load = 4;
  return m;
}

struct LabNearestLines : testing::Test {
  LabNearestLines()
      : run(with_two_latencies(), homing::testing::temporary_path("nearest.json"), [](bell&, std::uint32_t) {}) {
    for (const unsigned operation : {HOMING_LAB_LEARN_PAGE, HOMING_LAB_CHECK_PAGE}) {
      for (const unsigned node : {0U, 1U}) run.mark(0, operation, 0x7000 + node, (std::uint64_t{node} << 21) + 0x1000);
    }
    run.mark(0, HOMING_LAB_CALIBRATED, 0x7000, 0);
  }
  const code_block& block(const std::vector<std::uint8_t>& code) {
    return code_block::make(memory, 0x400000 + 16 * ++blocks, code,
                            std::vector<std::uint8_t>{static_cast<std::uint8_t>(code.size())});
  }
  /// Returns how much later than before all that the CPU has begun is done, in cycles.
  double access(const code_block& block, std::uint64_t line, access_kind kind) {
    const ticks before = run.cpu(0).board.drained();
    run.run(0, block, who::program);
    run.access(0, block.places()[0], line, line, kind, who::program);
    return static_cast<double>(run.cpu(0).board.drained() - before) / ticks_per_cycle;
  }
  double load(std::uint64_t line) { return access(chase, line, access_kind::load); }
  double store(std::uint64_t line) { return access(fill, line, access_kind::store); }

  std::pmr::monotonic_buffer_resource memory;
  unsigned blocks = 0;
  session run;
  const code_block& chase = block({0x48, 0x8b, 0x00});  // mov (%rax), %rax
  const code_block& fill = block({0x48, 0x89, 0x08});   // mov %rcx, (%rax)
};

TEST_F(LabNearestLines, HaveALineOnceItWasLoaded) {
  EXPECT_NEAR(load(7), 100, 1) << "from memory";
  EXPECT_EQ(load(7), 4);
  EXPECT_EQ(load(7), 4);
}

TEST_F(LabNearestLines, HaveALineThatWasStoredTo) {
  const auto store_and_wait = [&](std::uint64_t line) {
    store(line);
    for (int i = 0; i != 10; ++i) load(9);
  };
  store_and_wait(7);
  EXPECT_EQ(load(7), 4);
  load(7 + 512);  // takes its place
  EXPECT_EQ(load(7), 10);
  load(7 + 512);
  store_and_wait(7);
  EXPECT_EQ(load(7 + 512), 10) << "a store takes the place, too";
}

TEST_F(LabNearestLines, DoNotHaveWhatWasFetchedAhead) {
  for (const std::uint64_t line : {100U, 102U}) EXPECT_NEAR(load(line), 100, 1);
  EXPECT_EQ(load(104), 10) << "it is in the private cache";
  EXPECT_EQ(load(104), 4);
}

}  // namespace
