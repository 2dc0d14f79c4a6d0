/// Opening files to write into, link by link, and writing to pipes.
#include "platform/output_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace homing::platform {
namespace {

constexpr int links_max = 40;           // the kernel's own bound
constexpr int full_pipe_ms_max = 1000;  // without a byte read; then the reader counts as stuck

opened_output failed(int error) noexcept {
  constexpr const char* no_reader = "it is a FIFO that nobody reads, or a device that is not there";
  return {-1, error == ENXIO ? no_reader : std::strerror(error), error};
}

int flags_of(output_mode mode) noexcept {
  // Non-blocking: a FIFO without a reader is an error at once.
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  return flags | (mode == output_mode::append ? O_APPEND : mode == output_mode::create ? O_EXCL : 0);
}

// A write may bring these: to the thread that writes, and by default they end the process.
constexpr struct {
  int error;
  int signal;
} signals_of_writes[] = {{EPIPE, SIGPIPE}, {EFBIG, SIGXFSZ}};

/// While it exists, signals of the calling thread's writes wait; the one that the last of them has brought is taken
/// back, and one that had been waiting stays.
class without_signals {
 public:
  without_signals() noexcept {
    ::sigemptyset(&ours_);
    for (const auto& each : signals_of_writes) ::sigaddset(&ours_, each.signal);
    ::sigpending(&waiting_);
    ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~without_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_signals(const without_signals&) = delete;
  without_signals& operator=(const without_signals&) = delete;

  void take_back(int error) const noexcept {
    for (const auto& each : signals_of_writes) {
      if (error != each.error || ::sigismember(&waiting_, each.signal) != 0) continue;
      sigset_t one;
      ::sigemptyset(&one);
      ::sigaddset(&one, each.signal);
      const timespec now{};
      while (::sigtimedwait(&one, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
  }

 private:
  sigset_t ours_;
  sigset_t before_;
  sigset_t waiting_;
};

/// What the program has printed and stdio still holds. Not if another thread prints: it may be stuck there. Not into a
/// pipe that nobody reads either: who prints there ends the process, and that is left to the process's own end.
void flush_stdout() noexcept {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) < 0 || (out.revents & (POLLERR | POLLHUP)) != 0 || ::ftrylockfile(stdout) != 0) return;
  {
    const without_signals quiet;
    if (std::fflush(stdout) != 0) quiet.take_back(errno);
  }
  ::funlockfile(stdout);
}

bool is_regular(int file, struct stat& info) noexcept { return ::fstat(file, &info) == 0 && S_ISREG(info.st_mode); }

bool writes(int descriptor) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/// A regular file that a descriptor of this process writes to has one end for all: at the descriptor's place, not at
/// one that only we know of.
opened_output at_place_of(int shown, const struct stat& info) noexcept {
  if (writes_to(STDOUT_FILENO, info)) flush_stdout();
  const int file = ::fcntl(shown, F_DUPFD_CLOEXEC, 0);
  return file >= 0 ? opened_output{file, nullptr, 0} : failed(errno);
}

opened_output finish(int file, output_mode mode) noexcept {
  struct stat info {};
  if (is_regular(file, info)) {
    for (const int shown : {STDOUT_FILENO, STDERR_FILENO}) {
      if (shown == file || !writes_to(shown, info)) continue;
      ::close(file);
      return at_place_of(shown, info);
    }
    if (mode == output_mode::replace && ::ftruncate(file, 0) != 0) {
      const int error = errno;
      ::close(file);
      return failed(error);
    }
  }
  const int flags = ::fcntl(file, F_GETFL);
  ::fcntl(file, F_SETFL, flags & ~O_NONBLOCK);  // who reads may be slow
  return {file, nullptr, 0};
}

/// The descriptor of this process that /dev/stdout, /dev/fd/N or /proc/self/fd/N name, once links are followed; or -1.
int descriptor_named(std::string_view path) noexcept {
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const char* const end = path.data() + path.size();
    int number = -1;
    const auto [stopped, error] = std::from_chars(path.data() + folder.size(), end, number);
    if (error == std::errc{} && stopped == end) return number;
  }
  return -1;
}

/// What is no regular file has no place, and is opened anew, so that it blocks.
opened_output open_by_kernel(const char* path, output_mode mode) noexcept {
  const int named = descriptor_named(path);
  struct stat info {};
  if (named >= 0 && is_regular(named, info) && writes(named)) return at_place_of(named, info);
  if (named == STDOUT_FILENO) flush_stdout();
  const int file = ::open(path, flags_of(mode), 0644);
  return file >= 0 ? finish(file, mode) : failed(errno);
}

enum class step { followed, opened_by_kernel, refused };

// Puts the link's target in place of `path`. The link is held open meanwhile: who owns it and where it leads are facts
// of one and the same link, whatever happens to its name.
step follow(char (&path)[PATH_MAX], opened_output& why) noexcept {
  const owned_file link(::open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (link.get() < 0 || ::fstat(link.get(), &info) != 0) {
    why = failed(errno);
    return step::refused;
  }
  struct statfs system {};
  if (::fstatfs(link.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) return step::opened_by_kernel;
  if (!S_ISLNK(info.st_mode)) return step::followed;  // replaced meanwhile: looked at again
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    why = {-1, "it is a symbolic link that another user made", ELOOP};
    return step::refused;
  }
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(link.get(), "", target, sizeof(target) - 1);
  if (length <= 0) {
    why = failed(length < 0 ? errno : ENOENT);
    return step::refused;
  }
  target[length] = '\0';
  char* const slash = std::strrchr(path, '/');
  // A relative target starts at the link's own folder.
  const std::size_t folder = target[0] == '/' || slash == nullptr ? 0 : static_cast<std::size_t>(slash - path) + 1;
  if (folder + static_cast<std::size_t>(length) + 1 > sizeof(path)) {
    why = failed(ENAMETOOLONG);
    return step::refused;
  }
  std::memcpy(path + folder, target, static_cast<std::size_t>(length) + 1);
  return step::followed;
}

/// Waits for room in a pipe whose writers do not block. False, with EAGAIN, if there is none for long.
bool has_room_soon(int file) noexcept {
  pollfd out{file, POLLOUT, 0};
  const int found = ::poll(&out, 1, full_pipe_ms_max);
  if (found > 0 || (found < 0 && errno == EINTR)) return true;  // a reader that has gone is told by the next write
  errno = EAGAIN;
  return false;
}

}  // namespace

owned_file::~owned_file() {
  if (file_ >= 0) ::close(file_);
}

bool writes_to(int descriptor, const struct stat& file) noexcept {
  struct stat info {};
  return is_regular(descriptor, info) && info.st_dev == file.st_dev && info.st_ino == file.st_ino && writes(descriptor);
}

opened_output open_output(const char* path, output_mode mode) noexcept {
  char name[PATH_MAX];
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(name)) return failed(ENAMETOOLONG);
  std::memcpy(name, path, length + 1);
  for (int links = 0; links < links_max; ++links) {
    const int file = ::open(name, flags_of(mode) | O_NOFOLLOW, 0644);
    if (file >= 0) return finish(file, mode);
    if (errno != ELOOP || mode == output_mode::create) return failed(errno);
    opened_output why;
    switch (follow(name, why)) {
      case step::refused:
        return why;
      case step::opened_by_kernel:
        return open_by_kernel(name, mode);
      case step::followed:
        break;
    }
  }
  return failed(ELOOP);
}

bool write_whole(int file, std::string_view text) noexcept {
  int error = 0;
  {
    const without_signals quiet;
    while (!text.empty() && error == 0) {
      const ssize_t wrote = ::write(file, text.data(), text.size());
      if (wrote > 0) {
        text.remove_prefix(static_cast<std::size_t>(wrote));
      } else if (wrote == 0) {
        error = EIO;
      } else if (errno != EINTR && (errno != EAGAIN || !has_room_soon(file))) {
        error = errno;
      }
    }
    quiet.take_back(error);
  }
  errno = error;
  return error == 0;
}

}  // namespace homing::platform
