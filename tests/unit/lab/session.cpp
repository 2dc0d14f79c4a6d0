// A run as the plugin sees it: calibration, marks, regions, clocks and the file. Method: the marks' operations by
// hand, on a made-up machine; the marks themselves by the bytes that the compiler made of <homing/lab.hpp>.
#include <homing/lab.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "code_x86_64.hpp"
#include "session.hpp"
#include "unit/common/lab_machine_text.hpp"
#include "unit/common/temporary_path.hpp"

namespace {

using namespace homing::lab::model;
using homing::testing::temporary_path;

std::atomic<int> pauses = 0;
void count_pause(bell&, std::uint32_t) { ++pauses; }

struct LabSession : testing::Test {
  LabSession() : out(temporary_path("counts.json")), run(lab_test::machine(), out, count_pause) {}
  ~LabSession() override { std::filesystem::remove(out); }

  void page(unsigned operation, std::uint64_t mib, unsigned linux_node) {
    run.mark(0, operation, 0x7000 + linux_node, (mib << 20) + 0x1000);
  }
  void calibrate() {
    page(HOMING_LAB_LEARN_PAGE, 0, 0);
    page(HOMING_LAB_LEARN_PAGE, 2, 1);
    page(HOMING_LAB_CHECK_PAGE, 2, 1);
    run.mark(0, HOMING_LAB_CALIBRATED, 0x7000, 0);
  }
  void say(unsigned cpu, unsigned operation, const std::string& label, std::uint64_t stack = 0x5500) {
    for (const char letter : label) run.mark(cpu, HOMING_LAB_LETTER, stack + static_cast<unsigned char>(letter), 0);
    run.mark(cpu, operation, stack, 0);
  }
  nlohmann::json written() {
    run.write();
    std::ifstream in(out);
    return nlohmann::json::parse(in);
  }

  std::filesystem::path out;
  session run;
};

TEST_F(LabSession, NothingIsCountedBeforeTheCalibration) {
  EXPECT_EQ(run.model(), nullptr);
  run.run(0, 1000, who::program);
  const auto json = written();
  EXPECT_FALSE(json["calibrated"].get<bool>());
  EXPECT_TRUE(json["regions"].empty());
}

TEST_F(LabSession, CalibrationFindsTheNodes) {
  calibrate();
  ASSERT_NE(run.model(), nullptr);
  EXPECT_EQ(run.map().node_of(0x100), 0U);
  EXPECT_EQ(run.map().node_of(2 << 20), 1U);
  EXPECT_EQ(run.map().node_of(1 << 20), memory_map::unknown);
  const auto json = written();
  EXPECT_TRUE(json["calibrated"].get<bool>());
  EXPECT_EQ(json["regions"][0]["label"], "whole");
}

TEST_F(LabSession, AnotherLayoutOfAddressesIsFoundToo) {
  page(HOMING_LAB_LEARN_PAGE, 0, 1);  // and Linux numbers the nodes otherwise
  page(HOMING_LAB_LEARN_PAGE, 1, 0);
  page(HOMING_LAB_CHECK_PAGE, 1, 0);
  EXPECT_FALSE(run.failed()) << run.error();
  EXPECT_EQ(run.map().node_of(1 << 20), 1U);
  EXPECT_EQ(run.map().blocks()[0].linux_node, 1U);
}

TEST_F(LabSession, AWrongPageEndsTheCalibration) {
  page(HOMING_LAB_LEARN_PAGE, 0, 0);
  page(HOMING_LAB_LEARN_PAGE, 2, 1);
  page(HOMING_LAB_CHECK_PAGE, 0, 1);
  EXPECT_TRUE(run.failed());
  EXPECT_NE(run.error().find("node 1"), std::string::npos);
  EXPECT_EQ(written()["calibration"]["error"], run.error());
}

TEST_F(LabSession, PagesThatFitNoLayoutEndTheCalibration) {
  page(HOMING_LAB_LEARN_PAGE, 0, 0);
  page(HOMING_LAB_LEARN_PAGE, 9, 1);
  page(HOMING_LAB_CHECK_PAGE, 0, 0);
  EXPECT_NE(run.error().find("is in no node's memory"), std::string::npos);
}

TEST_F(LabSession, ACalibrationWithoutChecksIsNone) {
  page(HOMING_LAB_LEARN_PAGE, 0, 0);
  run.mark(0, HOMING_LAB_CALIBRATED, 0x7000, 0);
  EXPECT_TRUE(run.failed());
}

TEST_F(LabSession, RegionsCountWhatHappensInside) {
  calibrate();
  run.run(0, 100, who::program);
  say(0, HOMING_LAB_OPEN, "solve");
  run.run(0, 1000, who::program);
  run.run(1, 50, who::kernel);
  say(0, HOMING_LAB_CLOSE, "solve");
  run.run(0, 100, who::program);
  const auto region = written()["regions"][1];
  EXPECT_EQ(region["label"], "solve");
  EXPECT_EQ(region["entries"], 1);
  EXPECT_EQ(region["instructions"], 1000);
  EXPECT_EQ(region["kernel"]["instructions"], 50);
  EXPECT_EQ(region["virtual_ns"], 1000);
  EXPECT_EQ(region["cpus"][0]["virtual_ns"], 1000);
}

TEST_F(LabSession, ARegionIsOpenFromTheFirstBeginToTheLastEnd) {
  calibrate();
  say(0, HOMING_LAB_OPEN, "all");
  say(1, HOMING_LAB_OPEN, "all");
  say(0, HOMING_LAB_CLOSE, "all");
  run.run(1, 10, who::program);
  say(1, HOMING_LAB_CLOSE, "all");
  run.run(1, 10, who::program);
  say(1, HOMING_LAB_CLOSE, "all");  // not open: nothing
  const auto region = written()["regions"][1];
  EXPECT_EQ(region["entries"], 1);
  EXPECT_EQ(region["instructions"], 10);
}

TEST_F(LabSession, LettersOfTwoThreadsDoNotMix) {
  calibrate();
  run.mark(0, HOMING_LAB_LETTER, 0x100 + 'a', 0);
  run.mark(0, HOMING_LAB_LETTER, 0x200 + 'x', 0);
  run.mark(1, HOMING_LAB_LETTER, 0x100 + 'b', 0);  // the thread has moved
  run.mark(1, HOMING_LAB_OPEN, 0x100, 0);
  run.mark(0, HOMING_LAB_OPEN, 0x200, 0);
  const auto json = written();
  EXPECT_EQ(json["regions"][1]["label"], "ab");
  EXPECT_EQ(json["regions"][2]["label"], "x");
}

TEST_F(LabSession, WhoIsFarAheadWaitsAWhile) {
  calibrate();
  run.run(0, 1, who::program);
  pauses = 0;
  for (int i = 0; i != 20; ++i) run.run(1, 5000, who::program);  // CPU 0 runs, and gets nowhere
  EXPECT_GT(pauses, 0);
  EXPECT_LE(pauses, 20 * static_cast<int>(pacer::sleeps_max));
  pauses = 0;
  run.idle(0);
  for (int i = 0; i != 20; ++i) run.run(1, 5000, who::program);
  EXPECT_EQ(pauses, 0);
  run.run(0, 1, who::program);  // it wakes where the others are
  EXPECT_GE(run.cpu(0).now(), 195000 * ticks_per_cycle);
}

TEST_F(LabSession, WhoServesAnInterruptIsWaitedForUnlessItTakesLong) {
  calibrate();
  const std::uint64_t far = 10 * precision{}.quantum_cycles;
  run.run(1, 100, who::program);
  run.enter_kernel(1, session::entry::other, 0xffffffff81000000);
  run.run(1, 1000, who::kernel);
  run.run(0, far, who::program);
  run.run(0, 1, who::program);
  EXPECT_GT(pauses.exchange(0), 0) << "its clock stands still, but only for a moment";
  run.run(1, cpu_state::untimed_max, who::kernel);
  run.run(0, far, who::program);
  run.run(0, 1, who::program);
  EXPECT_EQ(pauses.exchange(0), 0) << "it may be waiting itself";
  run.leave_kernel(1);
  run.run(0, far, who::program);
  run.run(0, 1, who::program);
  EXPECT_GT(pauses.exchange(0), 0);
}

TEST_F(LabSession, InterruptsTakeNoTime) {
  run.enter_kernel(0, session::entry::other, 0xaa);
  run.enter_kernel(0, session::entry::other, 0xaa);
  run.enter_kernel(0, session::entry::other, 0xbb);
  calibrate();
  const auto time_of = [&](session::entry how, std::uint64_t address) {
    const ticks before = run.cpu(0).now();
    run.enter_kernel(0, how, address);
    run.run(0, 10, who::kernel);
    run.leave_kernel(0);
    return (run.cpu(0).now() - before) / ticks_per_cycle;
  };
  EXPECT_EQ(time_of(session::entry::system_call, 0xcc), 10U);
  EXPECT_EQ(time_of(session::entry::other, 0xaa), 10U);  // what came most often: page faults
  EXPECT_EQ(time_of(session::entry::other, 0xbb), 0U);
}

TEST_F(LabSession, AnIdleCpusInterruptsTakeNoTime) {
  calibrate();
  run.run(0, 100, who::program);
  run.run(1, 100, who::program);
  run.enter_kernel(1, session::entry::system_call, 0xcc);
  run.run(1, 50, who::kernel);
  run.idle(1);
  const ticks before = run.cpu(1).now();
  run.run(1, 100000, who::kernel);
  EXPECT_EQ(run.cpu(1).now(), before);
  run.run(0, 100000, who::program);
  run.leave_kernel(1);
  run.run(1, 1, who::program);
  EXPECT_GE(run.cpu(1).now(), run.cpu(0).now()) << "it wakes where the others are";
  EXPECT_LE(run.cpu(1).now(), run.cpu(0).now() + ticks_per_cycle);
}

/// Blocks as the kernel has them, at addresses of their own.
struct LabKernelSpin : LabSession {
  LabKernelSpin()
      : spin(code_block::make(memory, 0xffffffff81000000, std::vector<std::uint8_t>{0xf3, 0x90, 0xeb, 0xfc},
                              std::vector<std::uint8_t>{2, 2})),
        work(code_block::make(memory, 0xffffffff82000000, std::vector<std::uint8_t>(8, 0x90),
                              std::vector<std::uint8_t>(8, 1))) {
    calibrate();
    for (const unsigned cpu : {0U, 1U}) run.run(cpu, 1, who::program);
    run.enter_kernel(0, session::entry::system_call, 0xcc);
  }
  /// The cycles that a block, run so often, took CPU 0.
  double cycles_of(const code_block& block, int times) {
    run.finish(0);
    const ticks before = run.cpu(0).now();
    for (int i = 0; i != times; ++i) run.run(0, block, who::kernel);
    run.finish(0);
    return static_cast<double>(run.cpu(0).now() - before) / static_cast<double>(ticks_per_cycle);
  }

  static constexpr double quantum = precision{}.quantum_cycles, slack = 200;  // slack: a PAUSE, and a block
  std::pmr::monotonic_buffer_resource memory;
  const code_block &spin, &work;
};

TEST_F(LabKernelSpin, TakesNoTimeBeyondTheOthers) {
  EXPECT_TRUE(spin.pauses());
  EXPECT_FALSE(work.pauses());
  EXPECT_NEAR(cycles_of(spin, 100000), quantum, slack) << "up to where the others are, and a quantum";
  run.run(1, 5000, who::program);
  EXPECT_NEAR(cycles_of(spin, 100000), 5000, slack) << "it goes on as they do";
}

TEST_F(LabKernelSpin, IsOverWhenNobodyPausesAnyMore) {
  (void)cycles_of(spin, 100000);
  EXPECT_GE(cycles_of(work, 1000), 8 * 980);
}

TEST_F(LabKernelSpin, IsNotOnePause) {
  (void)cycles_of(work, 1000);  // ahead of the others
  EXPECT_GE(cycles_of(spin, 1), 2);
  EXPECT_EQ(cycles_of(work, 100), 800);
}

TEST_F(LabKernelSpin, LeavesInterruptsWithoutTime) {
  run.enter_kernel(0, session::entry::other, 0xbb);
  EXPECT_EQ(cycles_of(spin, 10), 0);
  EXPECT_EQ(cycles_of(work, 100), 0);
}

/// As the kernel has them: where a timer's interrupt enters, and how it returns.
struct LabNestedInterrupt : LabKernelSpin {
  LabNestedInterrupt()
      : timer(code_block::make(memory, 0xffffffff83000000, std::vector<std::uint8_t>(4, 0x90),
                               std::vector<std::uint8_t>(4, 1))),
        back(code_block::make(memory, 0xffffffff83000010, std::vector<std::uint8_t>{0x48, 0xcf},
                              std::vector<std::uint8_t>{2})) {
    run.leave_kernel(0);
    run.enter_kernel(0, session::entry::other, timer);  // it has come to the program before
    run.leave_kernel(0);
    run.enter_kernel(0, session::entry::system_call, work);
  }
  const code_block &timer, &back;
};

TEST_F(LabNestedInterrupt, TakesNoTimeUntilItReturns) {
  EXPECT_EQ(cycles_of(work, 10), 80);
  EXPECT_EQ(cycles_of(timer, 1), 0);
  EXPECT_EQ(cycles_of(work, 10), 0);
  EXPECT_EQ(cycles_of(timer, 1), 0) << "one in another";
  EXPECT_EQ(cycles_of(back, 1), 0);
  EXPECT_EQ(cycles_of(work, 10), 0) << "the first is not over";
  EXPECT_EQ(cycles_of(back, 1), 0);
  EXPECT_EQ(cycles_of(work, 10), 80) << "the system call goes on";
}

TEST_F(LabNestedInterrupt, IsOverWhenTheProgramGoesOn) {
  EXPECT_EQ(cycles_of(timer, 1), 0);
  run.leave_kernel(0);
  run.enter_kernel(0, session::entry::system_call, work);
  EXPECT_EQ(cycles_of(work, 10), 80);
}

TEST(LabArguments, AreNamedWhenWrong) {
  const auto complaint = [](const std::vector<std::string>& arguments) -> std::string {
    try {
      session::from_arguments(arguments, count_pause);
      return "";
    } catch (const machine_error& error) {
      return error.what();
    }
  };
  EXPECT_NE(complaint({}).find("machine=FILE"), std::string::npos);
  EXPECT_NE(complaint({"quantum=3"}).find("quantum=3"), std::string::npos);
  EXPECT_NE(complaint({"machine=/nowhere.json", "out=x"}).find("/nowhere.json"), std::string::npos);
}

TEST(LabMark, IsWhatTheCompilerMakesOfIt) {
  // On this machine a mark is a load; it must neither fault nor change anything.
  homing::lab::region region("a label of this test");
  const std::uint8_t open[] = {0x0f, 0xb6, 0x80, HOMING_LAB_OPEN, 0x48, 0x4f, 0x1a};
  EXPECT_EQ(x86_64::mark_of(open), HOMING_LAB_OPEN);
  // Somewhere in this function is that instruction.
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string code{std::istreambuf_iterator<char>(self), {}};
  EXPECT_NE(code.find(std::string(reinterpret_cast<const char*>(open), sizeof open)), std::string::npos);
}

TEST(LabMark, OtherInstructionsAreNot) {
  const std::uint8_t other[] = {0x0f, 0xb6, 0x80, 99, 0x48, 0x4f, 0x1a}, short_one[] = {0x0f, 0xb6, 0x80};
  EXPECT_FALSE(x86_64::mark_of(other));
  EXPECT_FALSE(x86_64::mark_of(short_one));
  const std::uint8_t lock_add[] = {0xf0, 0x48, 0x01, 0x07}, exchange[] = {0x87, 0x07}, swap[] = {0x87, 0xc1},
                     load[] = {0x48, 0x8b, 0x07}, call[] = {0x0f, 0x05};
  EXPECT_TRUE(x86_64::is_locked(lock_add));
  EXPECT_TRUE(x86_64::is_locked(exchange));
  EXPECT_FALSE(x86_64::is_locked(swap));
  EXPECT_FALSE(x86_64::is_locked(load));
  EXPECT_TRUE(x86_64::is_system_call(call));
  const std::uint8_t pause[] = {0xf3, 0x90}, nothing[] = {0x66, 0x90};
  EXPECT_TRUE(x86_64::sends_interrupt(0xffffffffff5fd300));
  EXPECT_FALSE(x86_64::sends_interrupt(0xffffffffff5fd0b0)) << "another register: it ends an interrupt";
  EXPECT_FALSE(x86_64::sends_interrupt(0xffffffff81000300));
  EXPECT_TRUE(x86_64::is_pause(pause));
  EXPECT_FALSE(x86_64::is_pause(nothing));
  EXPECT_FALSE(x86_64::is_system_call(swap));
}

struct LabClock : testing::Test {
  LabClock() : file(temporary_path("clock")), out(temporary_path("clock_counts.json")) {
    std::ofstream(file, std::ios::binary).put(0);
    std::filesystem::resize_file(file, HOMING_LAB_CLOCK_BYTES);
    run = std::make_unique<session>(lab_test::machine(), out, count_pause, std::make_unique<clock_file>(file));
  }
  ~LabClock() override {
    std::filesystem::remove(file);
    std::filesystem::remove(out);
  }
  void calibrate() {
    for (const unsigned operation : {HOMING_LAB_LEARN_PAGE, HOMING_LAB_CHECK_PAGE}) {
      for (const unsigned node : {0U, 1U}) run->mark(0, operation, 0x7000 + node, (std::uint64_t{node} << 21) + 0x1000);
    }
    run->mark(0, HOMING_LAB_CALIBRATED, 0x7000, 0);
  }
  // What a thread reads that mapped the clock at `base`, a multiple of its size, and asks with the slot of its id.
  std::uint64_t ask(unsigned cpu, unsigned id) {
    constexpr std::uint64_t base = 0x7f0000000000;
    const std::uint64_t offset = HOMING_LAB_CLOCK_HEADER_BYTES + 8 * std::uint64_t{id};
    run->mark(cpu, HOMING_LAB_CLOCK, base + offset, 0);
    return word(offset / 8);
  }
  std::uint64_t word(std::uint64_t index) {
    std::ifstream in(file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(index * 8));
    std::uint64_t value = 0;
    in.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  std::filesystem::path file, out;
  std::unique_ptr<session> run;
};

TEST_F(LabClock, StartsWithTheCalibration) {
  EXPECT_EQ(ask(0, 1), 0U);
  EXPECT_NE(word(0), HOMING_LAB_CLOCK_MAGIC);
  calibrate();
  EXPECT_EQ(word(0), HOMING_LAB_CLOCK_MAGIC);
  EXPECT_NE(word(1), 0U) << "the calendar time of its zero";
}

TEST_F(LabClock, TellsEachThreadTheTimeOfTheCpuItRunsOn) {
  calibrate();
  const std::uint64_t before = ask(0, 100);
  run->run(0, 1000, who::program);  // a cycle each, of a nanosecond
  EXPECT_EQ(ask(0, 100), before + 1000);
  EXPECT_LE(ask(1, 101), before);
  run->run(1, 500, who::program);  // it was idle, and goes on where the others are
  EXPECT_EQ(ask(1, 101), before + 1500);
  EXPECT_EQ(word((HOMING_LAB_CLOCK_HEADER_BYTES / 8) + 100), before + 1000) << "each has a slot of its own";
}

TEST_F(LabClock, IncludesTheMissesInFlight) {
  calibrate();
  const std::uint64_t before = ask(0, 1);
  run->model()->access(run->cpu(0), 7, 7, access_kind::store, who::program);  // overlapped: the CPU need not wait
  EXPECT_EQ(run->cpu(0).now(), before * ticks_per_cycle);
  EXPECT_EQ(ask(0, 1), before + 100);
}

// Nobody's time goes back, and each end meets its begin, whatever the CPUs do at once. For race detectors, too.
TEST_F(LabClock, AllCpusAtOnce) {
  calibrate();
  constexpr unsigned turns = 300;
  std::vector<std::thread> threads;
  for (unsigned cpu = 0; cpu != 4; ++cpu) {
    threads.emplace_back([&, cpu] {
      const std::uint64_t stack = 0x10000 * (cpu + 1);
      ticks last = 0;
      for (unsigned turn = 0; turn != turns; ++turn) {
        run->run(cpu, 100, who::program);
        run->model()->access(run->cpu(cpu), turn, turn % 64, access_kind::store, who::program);
        for (const unsigned operation : {HOMING_LAB_OPEN, HOMING_LAB_CLOSE}) {
          run->mark(cpu, HOMING_LAB_LETTER, stack + 'r', 0);
          run->mark(cpu, operation, stack, 0);
        }
        run->mark(cpu, HOMING_LAB_CLOCK, 0x7f0000000000 + HOMING_LAB_CLOCK_HEADER_BYTES + 8 * cpu, 0);
        EXPECT_GE(run->cpu(cpu).now(), last);
        last = run->cpu(cpu).now();
        if (turn % 16 == cpu) run->idle(cpu);
        if (turn % 100 == 99) run->write();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const auto entries = [&] {
    run->write();
    std::ifstream in(out);
    const auto json = nlohmann::json::parse(in);
    EXPECT_EQ(json["regions"].size(), 2U);
    EXPECT_EQ(json["regions"][1]["label"], "r");
    return json["regions"][1]["entries"].get<unsigned>();
  };
  const unsigned before = entries();
  run->mark(0, HOMING_LAB_LETTER, 0x500 + 'r', 0);
  run->mark(0, HOMING_LAB_OPEN, 0x500, 0);
  EXPECT_EQ(entries(), before + 1) << "it was closed as often as it was opened";
}

TEST_F(LabClock, LeavesTheHeaderAlone) {
  calibrate();
  run->run(0, 1000, who::program);
  run->mark(0, HOMING_LAB_CLOCK, 0x7f0000000000, 0);
  EXPECT_EQ(word(0), HOMING_LAB_CLOCK_MAGIC);
}

TEST(LabClockFile, AFileOfAnotherSizeIsRefused) {
  const std::string file = temporary_path("short_clock");
  std::ofstream(file) << "short";
  try {
    clock_file clock(file);
    FAIL();
  } catch (const machine_error& error) {
    EXPECT_NE(std::string(error.what()).find("expected a file of 2097152 bytes"), std::string::npos) << error.what();
  }
  std::filesystem::remove(file);
}

}  // namespace
