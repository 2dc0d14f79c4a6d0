/// Telling `homing run` that this library was loaded: a program may bring a libtbb.so.12 of its own, and run in
/// silence.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "platform/env.hpp"
#include "platform/known_variables.hpp"

namespace {

/// A file that `homing run` made in a folder of its own, and that each process adds its number to. Not HOMING_...:
/// nobody sets it by hand. Whoever can't write there (another user's program) is taken for one without the library.
[[maybe_unused]] const bool told = [] {
  homing::platform::warn_of_unknown_variables();
  const auto path = homing::platform::env("HOMINGRUN");
  if (!path) return false;
  const int file = ::open(path->data(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return false;
  char line[24];
  const int length = std::snprintf(line, sizeof line, "%d\n", static_cast<int>(::getpid()));
  const bool written = ::write(file, line, static_cast<std::size_t>(length)) == length;
  ::close(file);
  return written;
}();

}  // namespace
