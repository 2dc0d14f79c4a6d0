/// How the benchmark programs with options of their own read them: strictly, and what is wrong ends the program with
/// status 2.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

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
  /// The word after the option as a number in 1..most.
  template <class Number>
  [[nodiscard]] Number count(Number most) {
    const std::string_view text = value();
    const auto given = number<Number>(text);
    if (!given || *given < 1 || *given > most) refuse(text, "a number in 1.." + std::to_string(most));
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
