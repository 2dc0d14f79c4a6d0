#include "program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "machine.hpp"

namespace homing::lab {
namespace {

struct pipe_ends {
  int reader = -1;
  int writer = -1;
};

pipe_ends make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) switch_off();
  return {ends[0], ends[1]};
}

void close_end(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

void set_window(int terminal, unsigned rows, unsigned columns) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  ::ioctl(terminal, TIOCSWINSZ, &size);
}

// The two ends of a pseudo-terminal.
pipe_ends make_terminal(const request& wanted) {
  const int ours = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0) switch_off();
  std::array<char, 64> name{};
  if (::ptsname_r(ours, name.data(), name.size()) != 0) switch_off();
  const int theirs = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (theirs < 0) switch_off();
  (void)!::fchown(theirs, wanted.user, wanted.group);
  set_window(ours, wanted.rows, wanted.columns);
  return {ours, theirs};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the child. Writes errno into `failed` and ends if the program can't be started.
[[noreturn]] void become(const request& wanted, std::array<int, 3> streams, int failed) {
  ::setsid();
  if (wanted.terminal) ::ioctl(streams[0], TIOCSCTTY, 0);
  for (int i = 0; i < 3; ++i) ::dup2(streams[static_cast<std::size_t>(i)], i);
  const gid_t group = wanted.group;
  const bool changed = ::setgroups(1, &group) == 0 && ::setresgid(group, group, group) == 0 &&
                       ::setresuid(wanted.user, wanted.user, wanted.user) == 0;
  if (changed && ::chdir(wanted.folder.c_str()) == 0) {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const std::vector<char*> words = pointers(wanted.words);
    const std::vector<char*> environment = pointers(wanted.environment);
    ::environ = const_cast<char**>(environment.data());
    ::execvp(words[0], words.data());
  }
  const int error = errno;
  (void)!::write(failed, &error, sizeof error);
  ::_exit(127);
}

// Input on its way to the program: from a frame, or in the window.
struct piece {
  std::string own{};
  window_input in_window{};
  std::size_t done = 0;

  [[nodiscard]] bool from_window() const { return in_window.bytes != nullptr; }
  [[nodiscard]] const char* next() const { return (from_window() ? in_window.bytes : own.data()) + done; }
  [[nodiscard]] std::size_t left() const { return (from_window() ? in_window.count : own.size()) - done; }
};

// A terminal has no end of file, only a key that means it.
enum class end_of_input { closed, typed };
constexpr char end_key = 4;
// Of a line. A key for its end that no reader took becomes a character when a shell goes on to read keys by itself.
constexpr char kill_key = 21;

// Whether whoever reads the terminal has taken all that was typed.
bool all_taken(int terminal) {
  const int other = ::ioctl(terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (other < 0) return false;
  pollfd unread{other, POLLIN, 0};
  const bool result = ::poll(&unread, 1, 0) == 0;
  ::close(other);
  return result;
}

// Relays until nothing more can come.
class relay {
 public:
  relay(channel& runner, int input, end_of_input end, int output, int errors, char only)
      : runner_(runner),
        input_(input),
        end_(end),
        sources_{{{output, only != 0 ? only : 'O'}, {errors, only != 0 ? only : 'E'}}} {}

  // Waits for something to move, or (if wanted) for a child to end; returns whether anything moved.
  enum class waiting_for { nothing, anything };
  bool step(waiting_for what) {
    std::array<pollfd, 4> waiting{{{runner_.descriptor(), POLLIN, 0},
                                   {sources_[0].descriptor, POLLIN, 0},
                                   {sources_[1].descriptor, POLLIN, 0},
                                   {to_write_.empty() ? -1 : input_, POLLOUT, 0}}};
    // SIGCHLD is blocked but in here, so that no end is missed between waitpid() and the wait.
    sigset_t none;
    ::sigemptyset(&none);
    const timespec at_once{};
    const bool at_hand = runner_.has_received();
    const timespec until_typed_again{.tv_sec = 0, .tv_nsec = 200'000'000};
    const timespec* limit = all_typed() ? &until_typed_again : nullptr;
    if (at_hand || what == waiting_for::nothing) limit = &at_once;
    const int ready = ::ppoll(waiting.data(), waiting.size(), limit, &none);
    if (ready == 0 && limit == &until_typed_again && all_taken(input_)) end_input();
    if (ready <= 0 && !at_hand) return false;
    bool moved = false;
    for (std::size_t i = 0; i < 2; ++i) {
      if (waiting[i + 1].revents != 0) moved |= pass_on(sources_[i]);
    }
    if (at_hand || (waiting[0].revents & POLLIN) != 0) {
      for (const frame& f : runner_.receive()) take(f);
      moved = true;
    }
    if (waiting[3].revents != 0 && !to_write_.empty()) feed();
    return moved;
  }

  // What is still in the pipes of a program that has ended.
  void drain() {
    while (step(waiting_for::nothing)) {
    }
  }

  [[nodiscard]] int input() const { return input_; }

 private:
  struct source {
    int descriptor;
    char kind;
  };

  bool pass_on(source& from) {
    std::array<char, 65536> bytes;  // not zeroed: a region of the program's counts what we touch meanwhile, too
    const ssize_t count = ::read(from.descriptor, bytes.data(), bytes.size());
    if (count > 0) {
      runner_.send(from.kind, {bytes.data(), static_cast<std::size_t>(count)});
      return true;
    }
    if (count == 0 || (errno != EINTR && errno != EAGAIN)) from.descriptor = -1;  // closed; a terminal says EIO
    return false;
  }

  void take(const frame& f) {
    if (f.kind == 'i') {
      to_write_.push_back({.own = f.payload});
    } else if (f.kind == 'I') {
      to_write_.push_back({.in_window = runner_.input_of(f)});
    } else if (f.kind == 'z') {
      ends_ = true;
    } else if (f.kind == 'w') {
      unsigned rows = 0;
      unsigned columns = 0;
      if (std::sscanf(f.payload.c_str(), "%u %u", &rows, &columns) == 2)
        set_window(sources_[0].descriptor, rows, columns);
    }
    if (input_ < 0) drop();
    if (ends_ && to_write_.empty()) end_input();
  }

  [[nodiscard]] bool all_typed() const {
    return end_ == end_of_input::typed && ends_ && to_write_.empty() && input_ >= 0;
  }

  // The key is for whoever reads the terminal now. It is typed again when that one has taken it, so that later readers
  // find an end, too. As in a pipe, a last line needs no newline.
  void end_input() {
    if (end_ == end_of_input::closed) {
      close_end(input_);
    } else if (input_ >= 0) {
      const std::array<char, 3> keys{'\n', kill_key, end_key};
      const std::size_t first = last_written_ == '\n' ? 1 : 0;
      if (::write(input_, keys.data() + first, keys.size() - first) > 0) last_written_ = '\n';
    }
  }

  // [LC4] [LC7] acknowledges what the program has taken, or will never take.
  void acknowledge(const piece& taken) {
    if (taken.from_window()) {
      runner_.give_back();
    } else {
      runner_.send('A', std::to_string(taken.own.size()));
    }
  }

  // Nobody reads any more.
  void drop() {
    for (const piece& lost : to_write_) acknowledge(lost);
    to_write_.clear();
    close_end(input_);
  }

  void feed() {
    piece& first = to_write_.front();
    // A buffer that said nothing sensible has nothing to write, and is taken at once.
    const ssize_t count = first.left() == 0 ? 0 : ::write(input_, first.next(), first.left());
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      drop();
    } else if (count >= 0) {
      if (count > 0) last_written_ = first.next()[count - 1];
      first.done += static_cast<std::size_t>(count);
      if (first.left() == 0) {
        acknowledge(first);
        to_write_.pop_front();
      }
    }
    if (ends_ && to_write_.empty()) end_input();
  }

  channel& runner_;
  int input_;
  end_of_input end_;
  std::array<source, 2> sources_;
  std::deque<piece> to_write_{};
  bool ends_ = false;
  char last_written_ = '\n';
};

}  // namespace

outcome run_program(channel& runner, const request& wanted, char only) {
  pipe_ends in, out, err;
  if (wanted.terminal) {
    const pipe_ends terminal = make_terminal(wanted);
    in = {::fcntl(terminal.writer, F_DUPFD_CLOEXEC, 3), ::fcntl(terminal.reader, F_DUPFD_CLOEXEC, 3)};
    out = {terminal.reader, ::fcntl(terminal.writer, F_DUPFD_CLOEXEC, 3)};
    err = {-1, terminal.writer};
  } else {
    in = make_pipe();
    out = make_pipe();
    err = make_pipe();
  }
  pipe_ends failed = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) return {.code = 126, .start_error = errno};
  if (child == 0) become(wanted, {in.reader, out.writer, err.writer}, failed.writer);
  for (int* end : {&in.reader, &out.writer, &err.writer, &failed.writer}) close_end(*end);

  outcome result{};
  if (::read(failed.reader, &result.start_error, sizeof result.start_error) <= 0) result.start_error = 0;
  close_end(failed.reader);
  ::fcntl(in.writer, F_SETFL, O_NONBLOCK);
  ::fcntl(in.writer, F_SETPIPE_SZ, 1 << 20);  // fewer turns between the program and us

  relay streams(runner, in.writer, wanted.terminal ? end_of_input::typed : end_of_input::closed, out.reader, err.reader,
                only);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended == child) {
      result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      break;
    }
    if (ended <= 0) streams.step(relay::waiting_for::anything);
  }
  ::kill(-1, SIGKILL);  // [LC5] before what it left behind says more than anybody can take
  streams.drain();
  int input = streams.input();
  for (int* end : {&input, &out.reader, &err.reader}) close_end(*end);
  if (result.start_error != 0) result.code = result.start_error == ENOENT ? 127 : 126;
  return result;
}

}  // namespace homing::lab
