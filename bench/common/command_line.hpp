/// How the benchmark programs with options of their own read them: strictly, and what is wrong ends the program with
/// status 2; and how they end, so that output that could not be written is no success.
#pragma once

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

/// errno of the first flush of stdout that failed; 0: none has. Threads: one.
inline int output_error = 0;

inline void flush_output() noexcept {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (failed && output_error == 0) output_error = errno != 0 ? errno : EIO;
}

/// The status to end with: `status`, or 1 with a line on stderr if what was printed could not be written.
[[nodiscard]] inline int status_of_output(const char* program, int status) {
  flush_output();
  if (output_error == 0) return status;
  std::fprintf(stderr, "%s: can't write to stdout: %s\n", program, std::strerror(output_error));
  return status != 0 ? status : 1;
}

/// The words of one program; `refuse`, `count` and `value` name the option, what was expected, and --help.
class command_line {
 public:
  command_line(const char* program, int argc, char** argv) : program_(program), argc_(argc), argv_(argv) {}

  /// The next option, or none at the end.
  [[nodiscard]] std::optional<std::string_view> next() {
    if (at_ + 1 >= argc_) return std::nullopt;
    return option_ = argv_[++at_];
  }
  /// The word after the option.
  [[nodiscard]] std::string_view value() {
    if (at_ + 1 >= argc_) refuse(std::string(option_), "a value after it");
    return argv_[++at_];
  }
  /// The word after the option as a number in least..most.
  template <class Number>
  [[nodiscard]] Number count(Number most, Number least = 1) {
    const std::string_view text = value();
    const auto given = number<Number>(text);
    if (!given || *given < least || *given > most) {
      refuse(text, "a number in " + std::to_string(least) + ".." + std::to_string(most));
    }
    return *given;
  }
  /// What the whole text says, if it is a number.
  template <class Number>
  [[nodiscard]] static std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
  }
  /// The option with that value is wrong.
  [[noreturn]] void refuse(std::string_view value, const std::string& expected) const {
    refuse(std::string(option_) + " " + std::string(value), expected);
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& expected) const {
    std::fprintf(stderr, "%s: %s: expected %s; see --help\n", program_, what.c_str(), expected.c_str());
    std::exit(2);
  }
  /// The option was asked for what it prints, and that is printed.
  [[noreturn]] void end() const { std::exit(status_of_output(program_, 0)); }
  [[noreturn]] void refuse_option() const { refuse(quoted(option_), "an option of --help"); }
  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string result(1, '"');
    result.append(text);
    result.push_back('"');
    return result;
  }

 private:
  const char* program_;
  int argc_;
  char** argv_;
  int at_ = 0;
  std::string_view option_;
};

}  // namespace bench
