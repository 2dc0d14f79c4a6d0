/// Opening a file that a user named, to write into it: no trap that somebody else laid is stepped into.
#pragma once

#include <string_view>

struct stat;

namespace homing::platform {

enum class output_mode {
  append,   ///< behind what is there
  replace,  ///< what is there goes
  create    ///< there must be nothing yet: EEXIST otherwise, for a link too
};

struct [[nodiscard]] opened_output {
  int file = -1;                  ///< to be closed by the caller; -1: not opened
  const char* problem = nullptr;  ///< why not, for people; null if it is open
  int error_number = 0;           ///< the same as an errno
};

/// Closes the file, if it is one, at its end.
class owned_file {
 public:
  explicit owned_file(int file) noexcept : file_(file) {}
  owned_file(const owned_file&) = delete;
  owned_file& operator=(const owned_file&) = delete;
  ~owned_file();
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

/// Opens (or makes, mode 0644 less the umask) the file `path`. A symbolic link in its last place is followed only if
/// this user, root or the kernel (/proc) made it: in a folder for everybody, such as /tmp, others lay links. A FIFO
/// without a reader is an error, where open(2) would wait for one. A file that stdout or stderr writes to, by whatever
/// name, or a descriptor that is named (/dev/fd/N), is written where that descriptor stands, behind what was printed,
/// and loses nothing. Stdout is flushed only where the file is stdout's. Never allocates, never throws.
opened_output open_output(const char* path, output_mode mode) noexcept;

/// Whether the descriptor writes to this regular file, by whatever name. One that only reads it does not.
[[nodiscard]] bool writes_to(int descriptor, const struct stat& file) noexcept;

/// Writes all of it, over signals. A pipe whose reader has gone is an error (EPIPE), as is a limit on the size of files
/// (EFBIG); neither is the end of the process. A pipe that somebody made non-blocking is waited for as long as its
/// reader reads; after a second without, EAGAIN.
/// False: errno says why.
[[nodiscard]] bool write_whole(int file, std::string_view text) noexcept;

}  // namespace homing::platform
