/// Reading and refusing environment variables.
#include "platform/env.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "platform/fork.hpp"
#include "platform/output_file.hpp"

namespace homing::platform {
namespace {

// Text put together in place: these paths must work when memory is short.
class short_text {
 public:
  void add(std::string_view part) noexcept {
    const std::size_t room = sizeof(text_) - 1 - length_;
    const std::size_t taken = std::min(room, part.size());
    std::memcpy(text_ + length_, part.data(), taken);
    length_ += taken;
    text_[length_] = '\0';
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  char text_[400] = {};
  std::size_t length_ = 0;
};

// The variables refused so far, and a hash of the value of each that was last. The table holds all that we have several
// times over; were it full, a message would repeat, which is the lesser evil.
std::mutex refused_lock;
const fork_part refused_over_fork(
    fork_layer::environment, [] { refused_lock.lock(); }, [] { refused_lock.unlock(); }, [] { refused_lock.unlock(); });
struct {
  char name[48];
  std::size_t value;
} refused[32];

// True unless the last call with `name` had the same value.
bool is_new_refusal(const char* name, std::string_view value) noexcept {
  const std::size_t hash = std::hash<std::string_view>()(value);
  const std::scoped_lock guard(refused_lock);
  for (auto& entry : refused) {
    if (entry.name[0] == '\0') {
      std::strncpy(entry.name, name, sizeof(entry.name) - 1);
      entry.value = hash;
      return true;
    }
    if (std::strncmp(entry.name, name, sizeof(entry.name) - 1) == 0) return std::exchange(entry.value, hash) != hash;
  }
  return true;
}

}  // namespace

void warn(const char* format, ...) noexcept {
  const int kept = errno;
  constexpr std::string_view prefix = "homing: ";
  char line[1024];
  std::memcpy(line, prefix.data(), prefix.size());
  const std::size_t room = sizeof(line) - prefix.size() - 1;
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix.size(), room, format, arguments);
  va_end(arguments);
  const std::size_t written = std::min(static_cast<std::size_t>(std::max(wanted, 0)), room - 1);
  const std::size_t length = prefix.size() + written;
  line[length] = '\n';
  // Nowhere to report a stderr that is closed, or a pipe that nobody reads.
  static_cast<void>(write_whole(STDERR_FILENO, {line, length + 1}));
  errno = kept;
}

printable::printable(std::string_view text) noexcept {
  const std::size_t shown = std::min(text.size(), length_max);
  for (std::size_t i = 0; i < shown; ++i) {
    text_[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  }
  std::size_t end = shown;
  if (text.size() > shown) {
    std::memcpy(text_ + end, "...", 3);
    end += 3;
  }
  text_[end] = '\0';
}

std::optional<std::string_view> env(const char* name) noexcept {
  const char* const value = ::secure_getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::size_t length = ::strnlen(value, env_length_max + 1);
  if (length > env_length_max) {
    refuse_env(name, std::string_view(value, length), "at most 4096 characters", "nothing");
    return std::nullopt;
  }
  return std::string_view(value, length);
}

bool is_env_too_long(const char* name) noexcept {
  const char* const value = ::secure_getenv(name);
  return value != nullptr && ::strnlen(value, env_length_max + 1) > env_length_max;
}

bool has_env_that_starts(std::string_view prefix) noexcept {
  for (const char* const* entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with(prefix)) return true;
  }
  return false;
}

bool has_hostile_env(std::string_view prefix) noexcept {
  return ::getauxval(AT_SECURE) != 0 && has_env_that_starts(prefix);
}

void refuse_env(const char* name, std::string_view value, const char* expected, const char* used) noexcept {
  if (!is_new_refusal(name, value)) return;
  warn("%s=%s is not valid: expected %s; using %s", name, printable(value).c_str(), expected, used);
}

bool has_refused_env() noexcept {
  const std::scoped_lock guard(refused_lock);
  return refused[0].name[0] != '\0';
}

std::size_t detail::choose(const char* name, const std::string_view* names, std::size_t count,
                           std::size_t fallback) noexcept {
  const auto value = env(name);
  if (!value) return fallback;
  const std::string_view* const found = std::find(names, names + count, *value);
  if (found != names + count) return static_cast<std::size_t>(found - names);
  short_text expected;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) expected.add(i + 1 == count ? " or " : ", ");
    expected.add(names[i]);
  }
  short_text used;
  used.add(names[fallback]);
  refuse_env(name, *value, expected.c_str(), used.c_str());
  return fallback;
}

bool env_flag(const char* name, bool fallback) noexcept {
  return env_choice<bool>(name, {{"0", false}, {"1", true}}, fallback);
}

long env_integer(const char* name, long min, long max, long fallback) noexcept {
  const auto value = env(name);
  if (!value) return fallback;
  long number = 0;
  const char* const end = value->data() + value->size();
  const auto [stopped, error] = std::from_chars(value->data(), end, number);
  if (error == std::errc{} && stopped == end && number >= min && number <= max) return number;
  char expected[80];
  char used[24];
  std::snprintf(expected, sizeof(expected), "an integer from %ld to %ld", min, max);
  std::snprintf(used, sizeof(used), "%ld", fallback);
  refuse_env(name, *value, expected, used);
  return fallback;
}

}  // namespace homing::platform
