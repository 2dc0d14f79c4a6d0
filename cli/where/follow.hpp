/// A program run as a child and seen at the very end of its life, when its memory is still there.
///
/// The first thread is traced (ptrace) for one event, its exit: the kernel stops it there, before it gives the memory
/// back. Threads and children that the program makes are not traced.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace homing::cli {

struct [[nodiscard]] follow_result {
  int exit_code = 0;         ///< as a shell gives it
  bool started = false;      ///< it became the program
  bool seen_at_end = false;  ///< at_end was called
  std::string error{};       ///< why it could not be started or seen at its end
};

/// Runs `words`, calls `from_time_to_time(pid)` about every `milliseconds` while it runs and `at_end(pid)` once when
/// it is about to be gone; that not of a program that gains rights, which it would not if it were traced. Signals go to
/// the program: common/child.hpp. Errors: std::runtime_error.
follow_result follow(const std::vector<std::string>& words, int milliseconds,
                     const std::function<void(pid_t)>& from_time_to_time, const std::function<void(pid_t)>& at_end);

}  // namespace homing::cli
