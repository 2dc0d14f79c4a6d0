/// A program run as a child, with the exit code that a shell would give it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace homing::cli {

/// A child that waits until it may become the program. Without leave it ends, having run nothing. It dies with this
/// process.
///
/// Signals from the terminal reach the child itself. SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 that others
/// send to this process are passed on to it. From now on SIGPIPE is ignored here: a reader of stderr that is gone must
/// not part the two. Threads: one, and one child at a time.
class waiting_child {
 public:
  /// Errors: std::runtime_error.
  explicit waiting_child(const std::vector<std::string>& words);
  waiting_child(const waiting_child&) = delete;
  waiting_child& operator=(const waiting_child&) = delete;
  ~waiting_child();
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Lets it become the program.
  void let_go();
  /// After let_go(): waits until it has become the program, and gives 0; otherwise the errno.
  [[nodiscard]] int exec_error();
  /// As waitpid(2): its status; nothing if `options` has WNOHANG and nothing has changed. Errors: std::runtime_error.
  [[nodiscard]] std::optional<int> wait(int options = 0);

 private:
  pid_t id_ = -1;
  int gate_ = -1;     // a byte, and it goes
  int outcome_ = -1;  // closes by itself when the child becomes the program; carries errno otherwise
  sigset_t before_{};
};

/// What a shell makes of a status: the program's exit code, or 128 + the signal that killed it.
[[nodiscard]] int exit_code_of(int status) noexcept;
/// Why a program can't be started, and the exit code for that: 126 or 127.
[[nodiscard]] std::string start_problem(const std::string& program, int error_number);
[[nodiscard]] int start_problem_code(int error_number) noexcept;

/// Replaces this process. Returns only on failure, with the exit code (126 or 127), having said why.
int become(const std::vector<std::string>& words);

struct [[nodiscard]] run_result {
  int exit_code;
  int exec_error;  ///< 0: it became the program
};

/// Runs it as a waiting_child and waits. Says nothing of a program that can't be started. Errors: std::runtime_error.
/// `before_exec`, if given, is called here with the child's number while it waits to become the program.
run_result run_and_wait(const std::vector<std::string>& words, const std::function<void(pid_t)>& before_exec = nullptr);

/// The exit code when all is shown: 125 in place of 0 if stderr, where the program's figures go, has lost any.
[[nodiscard]] int unless_lost(int exit_code) noexcept;

}  // namespace homing::cli
