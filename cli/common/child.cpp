/// Starting a program, waiting for it, and passing signals on.
#include "common/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

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

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

volatile std::sig_atomic_t child_to_signal = 0;

constexpr int passed_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

void pass_on(int signal, siginfo_t* info, void* /*context*/) {
  const int kept = errno;
  // The kernel's own come from the terminal, to the child as well.
  const bool is_terminals = (signal == SIGINT || signal == SIGQUIT) && info->si_code > 0;
  if (child_to_signal > 0 && !is_terminals) ::kill(static_cast<pid_t>(child_to_signal), signal);
  errno = kept;
}

void set_handlers() {
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  action.sa_sigaction = pass_on;
  for (const int s : passed_signals) {
    // One that was ignored (nohup) stays ignored, for the child as well.
    struct sigaction before {};
    if (::sigaction(s, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) ::sigaction(s, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

void close_end(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

// In the child.
[[noreturn]] void be_the_program(char* const* words, int gate, int outcome, const sigset_t& mask) {
  // Who kills this command means the program: SIGKILL can't be passed on. Not over set-user-ID programs.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  char go = 0;
  while (::read(gate, &go, 1) < 0 && errno == EINTR) {
  }
  if (go != 1) ::_exit(exit_run_failed);
  ::execvp(words[0], words);
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(outcome, &error, sizeof(error));
  ::_exit(exit_not_executable);
}

}  // namespace

waiting_child::waiting_child(const std::vector<std::string>& words) {
  const std::vector<char*> argv = raw(words);
  int gate[2];
  int outcome[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) fail("can't start " + words.front() + ": pipe");
  if (::pipe2(outcome, O_CLOEXEC) != 0) {
    for (int& end : gate) close_end(end);
    fail("can't start " + words.front() + ": pipe");
  }
  // Signals wait until we know whom to pass them on to.
  sigset_t block;
  sigemptyset(&block);
  for (const int s : passed_signals) sigaddset(&block, s);
  ::sigprocmask(SIG_BLOCK, &block, &before_);
  id_ = ::fork();
  const int error = errno;
  if (id_ == 0) {
    ::close(gate[1]);
    be_the_program(argv.data(), gate[0], outcome[1], before_);
  }
  ::close(gate[0]);
  ::close(outcome[1]);
  gate_ = gate[1];
  outcome_ = outcome[0];
  if (id_ < 0) {
    close_end(gate_);
    close_end(outcome_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
    fail("can't start " + words.front() + ": fork");
  }
  child_to_signal = static_cast<std::sig_atomic_t>(id_);
  set_handlers();
}

waiting_child::~waiting_child() {
  const bool waits = gate_ >= 0;
  close_end(gate_);
  close_end(outcome_);
  if (waits) {
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  child_to_signal = 0;
}

void waiting_child::let_go() {
  const char go = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(gate_, &go, 1);  // one that was killed meanwhile reads nothing
  close_end(gate_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int waiting_child::exec_error() {
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(outcome_, &error, sizeof(error))) < 0 && errno == EINTR) {
  }
  return got == sizeof(error) ? error : 0;
}

std::optional<int> waiting_child::wait(int options) {
  int status = 0;
  pid_t changed = 0;
  while ((changed = ::waitpid(id_, &status, options)) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  if (changed == 0) return std::nullopt;
  if (WIFEXITED(status) || WIFSIGNALED(status)) child_to_signal = 0;  // its number may be another's from now on
  return status;
}

int exit_code_of(int status) noexcept { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string start_problem(const std::string& program, int error_number) {
  if (program.empty()) {
    return "can't start a program whose name is empty, perhaps that of a shell variable that is not set; give one";
  }
  return "can't start " + program + ": " + std::strerror(error_number);
}

int start_problem_code(int error_number) noexcept {
  return error_number == ENOENT ? exit_not_found : exit_not_executable;
}

int become(const std::vector<std::string>& words) {
  ::execvp(words.front().c_str(), raw(words).data());
  const int error = errno;
  complain(start_problem(words.front(), error));
  return start_problem_code(error);
}

run_result run_and_wait(const std::vector<std::string>& words, const std::function<void(pid_t)>& before_exec) {
  waiting_child child(words);
  if (before_exec) before_exec(child.id());
  child.let_go();
  const int error = child.exec_error();
  const int status = *child.wait();
  return {error == 0 ? exit_code_of(status) : start_problem_code(error), error};
}

int unless_lost(int exit_code) noexcept {
  return exit_code == exit_ok && std::ferror(stderr) != 0 ? exit_run_failed : exit_code;
}

}  // namespace homing::cli
