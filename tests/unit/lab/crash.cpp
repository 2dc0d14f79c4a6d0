// A crash of the emulator is told before the process ends by its signal: which one, where, in whose thread. Method:
// processes that crash.
#include "crash.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using homing::lab::model::tell_crashes;
using testing::KilledBySignal;

/// Not known to the compiler, which would refuse to read there.
volatile std::uintptr_t nowhere = 0x4d;

void crash() {
  prctl(PR_SET_NAME, "CPU 3/TCG");
  tell_crashes();
  (void)*reinterpret_cast<volatile const char*>(nowhere);
}

TEST(LabCrash, SaysWhereAndWhose) {
  EXPECT_EXIT(crash(), KilledBySignal(SIGSEGV),
              "QEMU crashed: signal 11 at address 0x4d, in the thread 'CPU 3/TCG'.*\n.*lab_crash.*[+]0x");
}

TEST(LabCrash, OfAnotherProcess) {
  EXPECT_EXIT((tell_crashes(), kill(getpid(), SIGBUS)), KilledBySignal(SIGBUS), "signal 7, sent by process [0-9]+");
}

TEST(LabCrash, AnAbort) {
  EXPECT_EXIT((tell_crashes(), std::abort()), KilledBySignal(SIGABRT), "QEMU crashed: signal 6");
}

/// Translated code is in no file, and nobody can say who called it.
TEST(LabCrash, InCodeOfNoFile) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memset(page, 0, 4096);
  ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
  const auto run = reinterpret_cast<void (*)()>(page);  // not executable
  EXPECT_EXIT((tell_crashes(), run()), KilledBySignal(SIGSEGV), "\n  0x[0-9a-f]+, in no file");
  munmap(page, 4096);
}

#if defined(__x86_64__)
/// Whoever walks this stack reads where nothing is: its frame is found by a register that has been spoilt.
[[gnu::noinline]] void abort_on_a_spoilt_stack(std::size_t bytes) {
  char* const room = static_cast<char*>(__builtin_alloca(bytes));  // so that the register finds the frame
  asm volatile("" : : "r"(room) : "memory");
  asm volatile("mov $0x4d, %%rbp\n\tcall *%0" : : "r"(&std::abort) : "memory");
  __builtin_unreachable();
}

TEST(LabCrash, WhileACrashIsTold) {
  EXPECT_EXIT((tell_crashes(), abort_on_a_spoilt_stack(static_cast<std::size_t>(nowhere))), KilledBySignal(SIGSEGV),
              "QEMU crashed: signal 6");
}
#endif

}  // namespace
