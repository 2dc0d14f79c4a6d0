#include "where/follow.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "common/child.hpp"
#include "common/command.hpp"
#include "common/program.hpp"

namespace homing::cli {
namespace {

// Lets a stopped child go on. A stop of the whole group (SIGSTOP, ^Z) is left to last until SIGCONT.
void go_on(pid_t child, int status) {
  const int signal = WSTOPSIG(status);
  const int event = status >> 16;
  const bool is_group_stop = event == PTRACE_EVENT_STOP && signal != SIGTRAP;
  if (is_group_stop) {
    ::ptrace(PTRACE_LISTEN, child, nullptr, nullptr);
  } else {
    const long passed_on = event == 0 ? signal : 0;
    ::ptrace(PTRACE_CONT, child, nullptr, passed_on);
  }
}

}  // namespace

follow_result follow(const std::vector<std::string>& words, int milliseconds,
                     const std::function<void(pid_t)>& from_time_to_time, const std::function<void(pid_t)>& at_end) {
  follow_result result;
  result.exit_code = exit_run_failed;
  waiting_child child(words);
  if (gains_rights(find_program(words.front()).path)) {
    result.error = words.front() + " gains rights as it starts, and would not if it were traced: its end was not seen";
  } else if (::ptrace(PTRACE_SEIZE, child.id(), nullptr, long{PTRACE_O_TRACEEXIT} | long{PTRACE_O_EXITKILL}) != 0) {
    result.error = std::string("may not trace the program to its end: ") + std::strerror(errno);
  }
  child.let_go();
  sigset_t changes;
  sigset_t before;
  sigemptyset(&changes);
  sigaddset(&changes, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &changes, &before);
  const timespec period{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  for (bool alive = true; alive;) {
    const auto status = child.wait(WNOHANG | __WALL);
    if (!status) {
      if (::sigtimedwait(&changes, nullptr, &period) < 0 && errno == EAGAIN) from_time_to_time(child.id());
    } else if (WIFSTOPPED(*status)) {
      if (*status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
        at_end(child.id());
        result.seen_at_end = true;
      }
      go_on(child.id(), *status);
    } else {
      result.exit_code = exit_code_of(*status);
      alive = false;
    }
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int error = child.exec_error();
  result.started = error == 0;
  if (!result.started) {
    result.error = start_problem(words.front(), error);
    result.exit_code = start_problem_code(error);
  }
  return result;
}

}  // namespace homing::cli
