// Clocks that are kept together. Method: CPUs' clocks are moved by threads that do nothing else, at different speeds;
// and by hand, where it is about who wakes at what time.
#include "pacer.hpp"
#include "stable_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace homing::lab::model;

constexpr ticks cycles(std::uint64_t c) { return c * ticks_per_cycle; }

stable_vector<cpu_state> made(unsigned count) {
  stable_vector<cpu_state> cpus;
  for (unsigned i = 0; i != count; ++i) cpus.emplace_back(i, 0, 0, 10, count_layout(1, 0));
  return cpus;
}

void wait_for_ring(bell& b, std::uint32_t rings) { b.wait(rings); }

/// Runs a CPU in steps, as the session does.
void run(pacer& clocks, cpu_state& cpu, ticks step, ticks end) {
  while (cpu.now() < end) {
    clocks.progress(cpu);
    const ticks before = cpu.now();
    cpu.advance_to(before + step);
    cpu.program.store(cpu.now(), std::memory_order_relaxed);
    if (before >= cpu.next_check) clocks.check(cpu);
  }
  cpu.running.store(false, std::memory_order_relaxed);
  clocks.progress(cpu);
}

TEST(LabPacer, KeepsClocksOfDifferentSpeedsTogether) {
  stable_vector<cpu_state> cpus = made(6);
  const precision exact{.quantum_cycles = 1000};
  pacer clocks(cpus, exact, 0, wait_for_ring);
  const ticks end = cycles(300000), step_max = cycles(10 + 40 * (cpus.size() - 1));
  for (cpu_state& cpu : cpus) clocks.wake(cpu);
  std::atomic<ticks> farthest{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != cpus.size(); ++i) {
    threads.emplace_back([&, i] { run(clocks, cpus[i], cycles(10 + 40 * i), end); });
  }
  const auto running = [&] {
    return std::all_of(cpus.begin(), cpus.end(), [](const cpu_state& c) { return c.running.load(); });
  };
  while (running()) {
    // The fastest is read first: the slowest can only have got nearer since.
    ticks slowest = end, fastest = 0;
    for (const cpu_state& cpu : cpus) fastest = std::max(fastest, cpu.now());
    for (const cpu_state& cpu : cpus) slowest = std::min(slowest, cpu.now());
    if (running() && fastest > slowest) farthest = std::max(farthest.load(), fastest - slowest);
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(clocks.waits(), 0U);
  if (clocks.given_up() == 0) {
    EXPECT_LE(farthest.load(), exact.quantum() + exact.look() + 2 * step_max);
  }
}

TEST(LabPacer, WhoWakesGoesOnWhereTheSlowestIs) {
  stable_vector<cpu_state> cpus = made(4);
  pacer clocks(cpus, {}, cycles(100), wait_for_ring);
  cpus[0].running = true;
  cpus[0].advance_to(cycles(1000));
  cpus[0].program = cycles(1000);
  cpus[1].advance_to(cycles(5000));  // it was ahead, and sleeps
  cpus[1].program = cycles(5000);
  clocks.wake(cpus[2]);
  EXPECT_EQ(cpus[2].now(), cycles(1100));
  clocks.wake(cpus[3]);
  EXPECT_EQ(cpus[3].now(), cycles(1100)) << "two that wake at once do so at one time";
}

TEST(LabPacer, WhereNobodyRunsTimeGoesOnFromTheFarthest) {
  stable_vector<cpu_state> cpus = made(2);
  pacer clocks(cpus, {}, cycles(100), wait_for_ring);
  cpus[0].advance_to(cycles(5000));
  cpus[0].program = cycles(5000);
  clocks.wake(cpus[1]);
  EXPECT_EQ(cpus[1].now(), cycles(5100));
}

struct LabPacerCalls : ::testing::Test {
  LabPacerCalls() {
    is_run = true;
    for (unsigned running : {0, 1}) {
      cpus[running].running = true;
      cpus[running].advance_to(cycles(1000));
    }
  }
  void advance_both(ticks to) {
    for (unsigned running : {0, 1}) cpus[running].advance_to(to);
  }
  std::uint64_t waits_of_one() {
    const std::uint64_t before = clocks.waits();
    clocks.check(cpus[1]);
    return clocks.waits() - before;
  }
  inline static bool is_run = true;

  stable_vector<cpu_state> cpus = made(4);
  pacer clocks{cpus, {}, cycles(5000), [](bell&, std::uint32_t) {}, [](unsigned) { return is_run; }};
};

TEST_F(LabPacerCalls, WhoIsCalledGoesOnAWhileAfterTheFirstCall) {
  clocks.call(2, cpus[0]);
  advance_both(cycles(1200));
  clocks.call(2, cpus[0]);
  advance_both(cycles(6900));
  clocks.wake(cpus[2]);
  EXPECT_EQ(cpus[2].now(), cycles(6000));
  clocks.rest(cpus[2]);
  clocks.wake(cpus[2]);
  EXPECT_EQ(cpus[2].now(), cycles(11900)) << "a call is for one time";
}

TEST_F(LabPacerCalls, ACallThatOthersAreFarBeyondWasNone) {
  clocks.call(2, cpus[0]);
  advance_both(cycles(100000));
  clocks.wake(cpus[2]);
  EXPECT_EQ(cpus[2].now(), cycles(105000));
}

TEST_F(LabPacerCalls, OthersWaitForWhoIsCalledUntilItRests) {
  advance_both(cycles(9000));
  clocks.call(2, cpus[0]);
  EXPECT_EQ(waits_of_one(), 0U) << "it goes on at 14,000 at the earliest";
  advance_both(cycles(16000));
  EXPECT_EQ(waits_of_one(), 1U);
  clocks.rest(cpus[2]);
  EXPECT_EQ(waits_of_one(), 0U);
}

/// It was on its way to its rest when the interrupt was sent, and it was not for it.
TEST_F(LabPacerCalls, OthersWaitOnceForWhoRestsAlready) {
  clocks.call(2, cpus[0]);
  is_run = false;
  advance_both(cycles(16000));
  const std::uint64_t given_up = clocks.given_up();
  EXPECT_EQ(waits_of_one(), 1U);
  EXPECT_EQ(clocks.given_up(), given_up);
  EXPECT_EQ(waits_of_one(), 0U);
}

TEST_F(LabPacerCalls, OnlyWhoSeemsToHaveGotTheInterruptIsCalled) {
  clocks.call(1, cpus[0]);
  EXPECT_EQ(cpus[1].called, waiting::never) << "it runs";
  clocks.call(3, cpus[2]);
  EXPECT_EQ(cpus[3].called, waiting::never) << "an idle CPU has no time to give";
  is_run = false;
  clocks.call(2, cpus[0]);
  EXPECT_EQ(cpus[2].called, waiting::never) << "the host does not run it";
}

TEST(LabPacer, WhoHasHadALookMeanwhileIsNotCalled) {
  static stable_vector<cpu_state> cpus = made(2);
  static pacer* rests_at;
  pacer clocks(
      cpus, {}, cycles(100), [](bell&, std::uint32_t) {},
      [](unsigned cpu) {
        rests_at->rest(cpus[cpu]);
        return true;
      });
  rests_at = &clocks;
  cpus[0].running = true;
  clocks.call(1, cpus[0]);
  EXPECT_EQ(cpus[1].called, waiting::never);
}

}  // namespace
