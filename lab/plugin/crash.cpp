#include "crash.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace homing::lab::model {
namespace {

constexpr std::array fatal{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int callers_max = 16;

std::atomic<bool> told{false};

/// A line that needs no memory: a crash may be in the allocator.
class line {
 public:
  line& operator<<(std::string_view text) noexcept {
    size_ += text.copy(text_.data() + size_, text_.size() - 1 - size_);
    return *this;
  }
  line& operator<<(int number) noexcept { return append(number, 10); }
  line& hexadecimal(std::uintptr_t number) noexcept { return (*this << "0x").append(number, 16); }
  void write() noexcept {
    text_[size_] = '\n';
    // A refused write loses what is said of a crash that happens anyway.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), size_ + 1);
  }

 private:
  template <class Number>
  line& append(Number number, int base) noexcept {
    size_ = static_cast<std::size_t>(
        std::to_chars(text_.data() + size_, text_.data() + text_.size() - 1, number, base).ptr - text_.data());
    return *this;
  }

  std::array<char, 256> text_;
  std::size_t size_ = 0;
};

void tell_place(std::uintptr_t address) noexcept {
  line text;
  text << "  ";
  Dl_info found;
  if (dladdr(reinterpret_cast<void*>(address), &found) == 0 || found.dli_fname == nullptr) {
    text.hexadecimal(address) << ", in no file";
  } else {
    const std::string_view file = found.dli_fname;
    text << file.substr(file.rfind('/') + 1) << "+";
    text.hexadecimal(address - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
    if (found.dli_sname != nullptr) text << " (" << found.dli_sname << ")";
  }
  text.write();
}

std::uintptr_t instruction(const void* context) noexcept {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return registers.pc;
#else
  return 0;
#endif
}

void tell(int number, siginfo_t* about, void* context) {
  // Relaxed: who is first tells, and nothing else hangs on it. Another thread waits for the end, which is that one's.
  while (told.exchange(true, std::memory_order_relaxed)) pause();
  std::array<char, 17> thread{};
  prctl(PR_GET_NAME, thread.data());
  line text;
  text << "homing lab: QEMU crashed: signal " << number;
  if (about->si_code <= 0) {
    text << ", sent by process " << static_cast<int>(about->si_pid);
  } else {
    text << " at address ";
    text.hexadecimal(reinterpret_cast<std::uintptr_t>(about->si_addr));
  }
  text << ", in the thread '" << thread.data() << "'; its instruction, and its callers as far as they are known:";
  text.write();
  tell_place(instruction(context));
  std::array<void*, callers_max> callers{};
  const int depth = backtrace(callers.data(), callers_max);
  for (int i = 0; i < depth; ++i) tell_place(reinterpret_cast<std::uintptr_t>(callers[static_cast<unsigned>(i)]));
  signal(number, SIG_DFL);
  raise(number);  // blocked until this returns, and the end then
}

}  // namespace

void tell_crashes() noexcept {
  std::array<void*, 1> caller{};
  (void)backtrace(caller.data(), 1);  // loads what it needs now: a crash is no time for that
  struct sigaction action {};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);  // a crash in here, of whichever kind, is the kernel's to end: it would wait for itself
  for (const int number : fatal) sigaction(number, &action, nullptr);
}

}  // namespace homing::lab::model
