/// How a program of tests/faults runs its work, tells its result, and stays apart from the injector: one check() a
/// main().
///
/// Exit status: 0, the right result. 3, a failure that an exception told, in a line "failed: ..."; afterwards the same
/// work is done once more, and must succeed if the fault was a single one. 1, a wrong result; 4, something else thrown.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

// The injector's, if it is there.
extern "C" {
[[gnu::weak]] void homing_fault_begin();
[[gnu::weak]] void homing_fault_exempt(int more);
[[gnu::weak]] int homing_fault_is_lasting();
}

namespace faults {

/// While it lives, nothing fails in the calling thread: what the program needs for itself.
class exempt {
 public:
  exempt() {
    if (homing_fault_exempt != nullptr) homing_fault_exempt(1);
  }
  ~exempt() {
    if (homing_fault_exempt != nullptr) homing_fault_exempt(-1);
  }
  exempt(const exempt&) = delete;
  exempt& operator=(const exempt&) = delete;
};

/// An application's thread: made under any fault, joined in any case. `f` catches what it throws.
template <class F>
class helper {
 public:
  explicit helper(F f) : thread_(make(std::move(f))) {}
  ~helper() { thread_.join(); }
  helper(const helper&) = delete;
  helper& operator=(const helper&) = delete;

 private:
  static std::thread make(F f) {
    const exempt from_faults;
    return std::thread(std::move(f));
  }
  std::thread thread_;
};

struct wrong {
  const char* what;
};
inline void require(bool holds, const char* what) {
  if (!holds) throw wrong{what};
}

inline void say(const char* word, const char* what) noexcept {
  char line[300];
  const int length = std::snprintf(line, sizeof(line), "%s: %s\n", word, what);
  if (length > 0 && ::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) < 0) _exit(2);
}

/// Until it holds; the runner's time limit is for what never does. Only if all calls fail from some point on may there
/// be nobody to bring it about: then it gives up, with status 6, and the runner asks whether the library has told why.
template <class Done>
void await(const char* what, Done&& done) {
  const bool may_give_up = homing_fault_is_lasting != nullptr && homing_fault_is_lasting() != 0;
  const auto begun = std::chrono::steady_clock::now();
  while (!done()) {
    sched_yield();
    if (may_give_up && std::chrono::steady_clock::now() - begun > std::chrono::seconds(5)) {
      say("gave up", what);
      _exit(6);
    }
  }
}

/// The status, and the line that goes with it.
template <class Work>
int once(Work&& work) {
  try {
    work();
    say("right", "all is as it should be");
    return 0;
  } catch (const wrong& w) {
    say("wrong", w.what);
    return 1;
  } catch (const std::bad_alloc&) {
    say("failed", "no memory (std::bad_alloc)");
    return 3;
  } catch (const std::exception& e) {
    say("failed", e.what());
    return 3;
  } catch (...) {
    say("unknown", "an exception that says nothing");
    return 4;
  }
}

template <class Work>
int check(Work&& work) {
  if (homing_fault_begin != nullptr) homing_fault_begin();
  const int first = once(work);
  if (first != 3) return first;
  const int again = once(work);
  const bool lasting = homing_fault_is_lasting != nullptr && homing_fault_is_lasting() != 0;
  return again == 0 || (again == 3 && lasting) ? 3 : again == 3 ? 5 : again;
}

}  // namespace faults
