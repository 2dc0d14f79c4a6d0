/// Starting a program, waiting for it, and passing signals on.
#include "common/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/command.hpp"

namespace homing::cli {
namespace {

std::vector<char*> raw(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

int start_failed(const std::string& name, int error) {
  complain("can't start " + name + ": " + std::strerror(error));
  return error == ENOENT ? exit_not_found : exit_not_executable;
}

volatile std::sig_atomic_t child_to_signal = 0;

void pass_on(int signal) {
  const int kept = errno;
  if (child_to_signal > 0) ::kill(static_cast<pid_t>(child_to_signal), signal);
  errno = kept;
}

constexpr int terminal_signals[] = {SIGINT, SIGQUIT};  // the child gets them from the terminal
constexpr int passed_signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void set_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = SIG_IGN;
  for (const int s : terminal_signals) ::sigaction(s, &action, nullptr);
  action.sa_handler = pass_on;
  for (const int s : passed_signals) {
    // One that was ignored (nohup) stays ignored, for the child as well.
    struct sigaction before {};
    if (::sigaction(s, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) ::sigaction(s, &action, nullptr);
  }
}

}  // namespace

int become(const std::vector<std::string>& words) {
  ::execvp(words.front().c_str(), raw(words).data());
  return start_failed(words.front(), errno);
}

int run_and_wait(const std::vector<std::string>& words, const std::function<void(pid_t)>& before_exec) {
  const std::vector<char*> argv = raw(words);
  int ends[2];  // closes by itself when the child becomes the program; carries errno otherwise
  int gate[2];  // the child waits for its end
  if (::pipe2(ends, O_CLOEXEC) != 0 || ::pipe2(gate, O_CLOEXEC) != 0) {
    complain(std::string("pipe: ") + std::strerror(errno));
    return exit_run_failed;
  }
  // Signals wait until we know whom to pass them on to.
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  for (const int s : passed_signals) sigaddset(&block, s);
  for (const int s : terminal_signals) sigaddset(&block, s);
  ::sigprocmask(SIG_BLOCK, &block, &before);
  const pid_t child = ::fork();
  if (child < 0) {
    complain(std::string("fork: ") + std::strerror(errno));
    return exit_run_failed;
  }
  if (child == 0) {
    ::close(gate[1]);
    // Who kills this command means the program: SIGKILL can't be passed on. Not over set-user-ID programs.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char nothing = 0;
    while (::read(gate[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(ends[1], &error, sizeof(error));
    ::_exit(exit_not_executable);
  }
  child_to_signal = static_cast<std::sig_atomic_t>(child);
  set_handlers();
  ::close(gate[0]);
  if (before_exec) before_exec(child);
  ::close(gate[1]);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(ends[0], &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    complain(std::string("waitpid: ") + std::strerror(errno));
    return exit_run_failed;
  }
  child_to_signal = 0;
  if (got == sizeof(error)) return start_failed(words.front(), error);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace homing::cli
