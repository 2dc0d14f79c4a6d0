/// What the lab's guest programs share: checks that are printed and counted, and words of the command-line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace guest {

inline int failures = 0;

/// Prints a line; a check that failed makes main()'s `verdict()` 1.
inline bool check(bool holds, const std::string& what, const std::string& seen = {}) {
  if (!holds) ++failures;
  std::printf("%s: %s%s%s\n", holds ? "ok" : "FAILED", what.c_str(), holds || seen.empty() ? "" : ": ",
              holds ? "" : seen.c_str());
  std::fflush(stdout);
  return holds;
}

[[nodiscard]] inline int verdict() { return failures == 0 ? 0 : 1; }

/// The program could not do what it is for: neither ok nor FAILED.
[[noreturn]] inline void give_up(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(2);
}

class words {
 public:
  words(int argc, char** argv) : all_(argv + 1, argv + argc) {}
  [[nodiscard]] bool has(std::string_view word) const {
    for (const std::string_view w : all_) {
      if (w == word) return true;
    }
    return false;
  }
  /// What follows `word`.
  [[nodiscard]] long number(std::string_view word, long otherwise) const {
    for (std::size_t i = 0; i + 1 < all_.size(); ++i) {
      if (all_[i] == word) return std::atol(all_[i + 1].data());
    }
    return otherwise;
  }

 private:
  std::vector<std::string_view> all_;
};

}  // namespace guest
