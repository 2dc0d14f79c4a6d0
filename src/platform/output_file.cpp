/// Opening files to write into, link by link, and writing to pipes.
#include "platform/output_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

namespace homing::platform {
namespace {

constexpr int links_max = 40;  // the kernel's own bound

class owned_file {
 public:
  explicit owned_file(int file) noexcept : file_(file) {}
  owned_file(const owned_file&) = delete;
  owned_file& operator=(const owned_file&) = delete;
  ~owned_file() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

opened_output failed(int error) noexcept { return {-1, std::strerror(error), error}; }

int flags_of(output_mode mode) noexcept {
  // Non-blocking: a FIFO without a reader is an error at once.
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  return flags | (mode == output_mode::append ? O_APPEND : mode == output_mode::create ? O_EXCL : 0);
}

opened_output finish(int file, output_mode mode) noexcept {
  struct stat info {};
  if (::fstat(file, &info) != 0 ||
      (mode == output_mode::replace && S_ISREG(info.st_mode) && ::ftruncate(file, 0) != 0)) {
    const int error = errno;
    ::close(file);
    return failed(error);
  }
  const int flags = ::fcntl(file, F_GETFL);
  ::fcntl(file, F_SETFL, flags & ~O_NONBLOCK);  // who reads may be slow
  return {file, nullptr, 0};
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

}  // namespace

opened_output open_output(const char* path, output_mode mode) noexcept {
  char name[PATH_MAX];
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(name)) return failed(ENAMETOOLONG);
  std::memcpy(name, path, length + 1);
  for (int links = 0; links < links_max; ++links) {
    const int file = ::open(name, flags_of(mode) | O_NOFOLLOW, 0644);
    if (file >= 0) return finish(file, mode);
    if (errno == ENXIO) return {-1, "it is a FIFO that nobody reads, or a device that is not there", ENXIO};
    if (errno != ELOOP || mode == output_mode::create) return failed(errno);
    opened_output why;
    switch (follow(name, why)) {
      case step::refused:
        return why;
      case step::opened_by_kernel: {
        const int shown = ::open(name, flags_of(mode), 0644);
        return shown >= 0 ? finish(shown, mode) : failed(errno);
      }
      case step::followed:
        break;
    }
  }
  return failed(ELOOP);
}

bool write_whole(int file, std::string_view text) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigset_t waiting;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::sigpending(&waiting);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote == 0 || errno != EINTR) {
      error = wrote == 0 ? EIO : errno;
    }
  }
  // Ours is taken back; one that had been waiting stays.
  if (error == EPIPE && ::sigismember(&waiting, SIGPIPE) == 0) {
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return error == 0;
}

}  // namespace homing::platform
