/// Environment variables, read strictly: a wrong value is said once and replaced, never obeyed.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace homing::platform {

/// Longer values are refused like wrong ones.
inline constexpr std::size_t env_length_max = 4096;

/// One line on stderr, "homing: " in front and a newline behind, in a single write(2), so that
/// lines of several threads and processes don't mix. Cut at 1 KiB. Keeps errno; never throws. A stderr that nobody
/// reads does not end the process.
[[gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

/// Text from outside made fit to print: at most 100 characters, no control or non-ASCII bytes.
/// Holds its own copy, so that it can be made without allocation.
class printable {
 public:
  explicit printable(std::string_view text) noexcept;
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  static constexpr std::size_t length_max = 100;
  char text_[length_max + 4];
};

/// The value of an environment variable; nothing if it is unset, empty or too long (said once), and in a program that
/// runs with other rights than its caller's (set-user-ID, secure_getenv(3)): the caller must not write through it.
/// Points into the environment: use it before anybody calls setenv.
[[nodiscard]] std::optional<std::string_view> env(const char* name) noexcept;

/// True if env() refuses the variable for its length.
[[nodiscard]] bool is_env_too_long(const char* name) noexcept;

/// Whether env() is closed for that reason, and a variable that starts with `prefix` is set. For libraries below us
/// that would obey it.
[[nodiscard]] bool has_hostile_env(std::string_view prefix) noexcept;

/// Whether a variable that starts with `prefix` is set, whoever set it.
[[nodiscard]] bool has_env_that_starts(std::string_view prefix) noexcept;

/// Says, once for each new value: homing: NAME=VALUE is not valid: expected EXPECTED; using USED
void refuse_env(const char* name, std::string_view value, const char* expected, const char* used) noexcept;

/// Whether any variable of this process was refused so far. Threads: any.
[[nodiscard]] bool has_refused_env() noexcept;

/// The names and meanings that a variable may have, in the order in which to tell them.
template <class E>
using env_choices = std::initializer_list<std::pair<std::string_view, E>>;

namespace detail {
// The choices without their type: positions in `names` stand for the meanings.
[[nodiscard]] std::size_t choose(const char* name, const std::string_view* names, std::size_t count,
                                 std::size_t fallback) noexcept;
}  // namespace detail

/// The meaning of the variable's value; `fallback`, which must be one of the choices, if it is
/// unset or none of them. At most 16 choices.
template <class E>
[[nodiscard]] E env_choice(const char* name, env_choices<E> choices, E fallback) noexcept {
  constexpr std::size_t choices_max = 16;
  std::string_view names[choices_max];
  std::size_t count = 0;
  std::size_t fallback_at = 0;
  for (const auto& [text, meaning] : choices) {
    if (count == choices_max) break;
    if (meaning == fallback) fallback_at = count;
    names[count++] = text;
  }
  return (choices.begin() + detail::choose(name, names, count, fallback_at))->second;
}

/// "1" or "0"; anything else is refused.
[[nodiscard]] bool env_flag(const char* name, bool fallback) noexcept;

/// A decimal integer in min..max, nothing before or after it.
[[nodiscard]] long env_integer(const char* name, long min, long max, long fallback) noexcept;

}  // namespace homing::platform
