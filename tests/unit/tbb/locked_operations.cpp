// A fork and join costs one locked operation beside those of oneTBB's headers, that by which a task is taken from its
// deque. Method: one thread is stepped through a tree of forks, one instruction at a time, and what locks is counted.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#if !defined(__x86_64__)
TEST(locked_operations, are_counted) { GTEST_SKIP() << "x86-64's instructions are what this test reads"; }
#elif defined(__SANITIZE_THREAD__)
TEST(locked_operations, are_counted) { GTEST_SKIP() << "ThreadSanitizer's own locked operations would be counted"; }
#else

namespace {

int by_groups(int n) {
  if (n < 2) return n;
  int left = 0;
  tbb::task_group children;
  children.run([&] { left = by_groups(n - 1); });
  const int right = by_groups(n - 2);
  children.wait();
  return left + right;
}

int by_invocations(int n) {
  if (n < 2) return n;
  int left = 0;
  int right = 0;
  tbb::parallel_invoke([&] { left = by_invocations(n - 1); }, [&] { right = by_invocations(n - 2); });
  return left + right;
}

constexpr int argument = 9;
constexpr int answer = 34;
constexpr std::uint64_t joins = 54;  // the calls of fib(9) with an argument above 1

bool fences_are_light() {
  const auto offered = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return offered > 0 && (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

constexpr unsigned char breakpoint = 0xCC;

/// What a step of the traced thread would run.
enum class instruction : std::uint8_t { plain, locked, mark };

/// By its first bytes: a lock prefix, an exchange with memory (which locks by itself), or mfence.
instruction decode(const std::array<unsigned char, 16>& bytes) {
  if (bytes[0] == breakpoint) return instruction::mark;
  std::size_t at = 0;
  for (; at < bytes.size() - 3; ++at) {
    switch (bytes[at]) {
      case 0xF0:
        return instruction::locked;
      case 0x26:
      case 0x2E:
      case 0x36:
      case 0x3E:
      case 0x64:
      case 0x65:
      case 0x66:
      case 0x67:
      case 0xF2:
      case 0xF3:
        continue;
      default:
        break;
    }
    break;
  }
  if ((bytes[at] & 0xF0U) == 0x40) ++at;  // REX
  const bool exchanges = (bytes[at] == 0x86 || bytes[at] == 0x87) && (bytes[at + 1] & 0xC0U) != 0xC0;
  const bool fences = bytes[at] == 0x0F && bytes[at + 1] == 0xAE && bytes[at + 2] == 0xF0;
  return exchanges || fences ? instruction::locked : instruction::plain;
}

class stepper {
 public:
  explicit stepper(pid_t traced) : traced_(traced) {}

  /// False if the thread ended on the way.
  bool run_between_breakpoints() {
    if (!go_on(PTRACE_CONT)) return false;  // one that was met has been run
    for (;;) {
      user_regs_struct registers{};
      if (ptrace(PTRACE_GETREGS, traced_, nullptr, &registers) != 0) return false;
      const instruction next = at(registers.rip);
      if (next == instruction::mark) return true;
      ++steps;
      if (next == instruction::locked) ++by_address[registers.rip];
      if (!go_on(PTRACE_SINGLESTEP)) return false;
    }
  }

  /// From a mark; false if there was another stop on the way, or the status tells of a wrong result.
  bool run_to_a_good_end() const {
    int status = 0;
    return go_on(PTRACE_CONT) && ptrace(PTRACE_CONT, traced_, nullptr, nullptr) == 0 &&
           waitpid(traced_, &status, 0) == traced_ && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  }

  std::uint64_t steps = 0;
  std::map<std::uint64_t, std::uint64_t> by_address;

 private:
  bool go_on(__ptrace_request how) const {
    int status = 0;
    return ptrace(how, traced_, nullptr, nullptr) == 0 && waitpid(traced_, &status, 0) == traced_ &&
           WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  instruction at(std::uint64_t address) {
    const auto known = known_.find(address);
    if (known != known_.end()) return known->second;
    std::array<unsigned char, 16> bytes{};
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(long)) {
      errno = 0;
      const long word = ptrace(PTRACE_PEEKTEXT, traced_, address + i, nullptr);
      if (errno != 0) break;  // the end of a mapping
      std::memcpy(&bytes[i], &word, sizeof word);
    }
    return known_[address] = decode(bytes);
  }

  const pid_t traced_;
  std::map<std::uint64_t, instruction> known_;
};

[[noreturn]] void run_traced(int (*fib)(int)) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  raise(SIGSTOP);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  bool right = true;
  arena.execute([&] {
    right = fib(argument) == answer;  // what is made once
    right = fib(argument) == answer && right;
    asm volatile("int3");
    right = fib(argument) == answer && right;
    asm volatile("int3");
  });
  _exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// Locked operations of one tree of forks with one thread; none where tracing is refused.
std::optional<std::uint64_t> count_locked(int (*fib)(int)) {
  const pid_t child = fork();
  if (child == 0) run_traced(fib);
  stepper steps(child);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;  // tracing is refused
  EXPECT_TRUE(steps.run_between_breakpoints()) << "the thread ended, or a signal came, before its second mark";
  EXPECT_TRUE(steps.run_to_a_good_end()) << "a wrong result, or no end";
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  std::uint64_t locked = 0;
  for (const auto& [address, times] : steps.by_address) {
    Dl_info where{};
    const bool known = dladdr(reinterpret_cast<void*>(address), &where) != 0;  // the child is a copy of this process
    std::printf("%8.3f a join  %s+0x%llx\n", static_cast<double>(times) / joins, known ? where.dli_fname : "?",
                static_cast<unsigned long long>(address - reinterpret_cast<std::uint64_t>(where.dli_fbase)));
    locked += times;
  }
  std::printf("%8.3f a join, of %.1f instructions\n", static_cast<double>(locked) / joins,
              static_cast<double>(steps.steps) / joins);
  return locked;
}

void expect_at_most(std::uint64_t each, int (*fib)(int)) {
  if (!fences_are_light()) {
    GTEST_SKIP() << "the kernel refuses membarrier: light fences are locked operations here";
  }
  const auto locked = count_locked(fib);
  if (!locked) {
    GTEST_SKIP() << "the process may not trace its child";
  }
  EXPECT_GE(*locked, 3 * joins) << "the headers' own, and the claim of a task, at least";
  EXPECT_LE(*locked, each * joins);
}

TEST(locked_operations, of_a_task_group) { expect_at_most(3, by_groups); }

// The headers count three times: once for both functions, and at the end of each.
TEST(locked_operations, of_parallel_invoke) { expect_at_most(4, by_invocations); }

}  // namespace
#endif
