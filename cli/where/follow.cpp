#include "where/follow.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "common/command.hpp"

namespace homing::cli {
namespace {

// The child waits for a byte, so that it is traced before it becomes the program.
struct start_gate {
  int to_child[2] = {-1, -1};
  int from_child[2] = {-1, -1};  ///< carries the errno of a failed exec; closes by itself otherwise
  bool open() { return ::pipe2(to_child, O_CLOEXEC) == 0 && ::pipe2(from_child, O_CLOEXEC) == 0; }
  ~start_gate() {
    for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) {
      if (end >= 0) ::close(end);
    }
  }
};

void close_end(int& end) {
  ::close(end);
  end = -1;
}

[[noreturn]] void be_the_program(start_gate& gate, const std::vector<std::string>& words, const sigset_t& mask) {
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  close_end(gate.to_child[1]);
  char go = 0;
  while (::read(gate.to_child[0], &go, 1) < 0 && errno == EINTR) {
  }
  if (go != 1) ::_exit(exit_run_failed);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(gate.from_child[1], &error, sizeof(error));
  ::_exit(error == ENOENT ? exit_not_found : exit_not_executable);
}

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
  start_gate gate;
  if (!gate.open()) return result.error = std::string("pipe: ") + std::strerror(errno), result;
  sigset_t changes;
  sigset_t before;
  sigemptyset(&changes);
  sigaddset(&changes, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &changes, &before);
  const pid_t child = ::fork();
  if (child < 0) return result.error = std::string("fork: ") + std::strerror(errno), result;
  if (child == 0) be_the_program(gate, words, before);
  // The terminal's signals are the program's: it ends by them, and we say what was seen.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  const bool traced = ::ptrace(PTRACE_SEIZE, child, nullptr, static_cast<long>(PTRACE_O_TRACEEXIT)) == 0;
  if (!traced) result.error = std::string("may not trace the program to its end: ") + std::strerror(errno);
  const char go = 1;
  if (::write(gate.to_child[1], &go, 1) != 1) result.error = std::string("pipe: ") + std::strerror(errno);
  close_end(gate.to_child[1]);
  close_end(gate.from_child[1]);
  const timespec period{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  for (bool alive = true; alive;) {
    int status = 0;
    const pid_t changed = ::waitpid(child, &status, WNOHANG | __WALL);
    if (changed < 0 && errno != EINTR) {
      result.error = std::string("waitpid: ") + std::strerror(errno);
      break;
    }
    if (changed <= 0) {
      if (::sigtimedwait(&changes, nullptr, &period) < 0 && errno == EAGAIN) from_time_to_time(child);
    } else if (WIFSTOPPED(status)) {
      if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
        at_end(child);
        result.seen_at_end = true;
      }
      go_on(child, status);
    } else {
      result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      alive = false;
    }
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int error = 0;
  if (::read(gate.from_child[0], &error, sizeof(error)) == sizeof(error)) {
    result.error = "can't start " + words.front() + ": " + std::strerror(error);
  } else {
    result.started = true;
  }
  return result;
}

}  // namespace homing::cli
