// Fibonacci numbers by the definition, a task for each call: what a fork and a join cost when there is no work.
#pragma once

#include <homing/placement.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "../common/variants.hpp"

namespace fib {

using programs::request;

/// Which number, and whether it was found.
class problem {
 public:
  explicit problem(const request& r) : size_(r.size) {}
  void reset() {}
  [[nodiscard]] std::string wrong() const { return result_ == known[size_] ? "" : "fib is " + std::to_string(result_); }
  /// Millions of calls: 2 fib(n + 1) - 1, and fib grows by the golden ratio.
  [[nodiscard]] double amount() const { return 2 * 1.618034 * static_cast<double>(known[size_]) / 1e6; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }

 protected:
  [[nodiscard]] int argument() const { return arguments[size_]; }
  std::uint64_t result_ = 0;

 private:
  static constexpr int arguments[] = {20, 27, 32, 37, 42};
  static constexpr std::uint64_t known[] = {6765, 196'418, 2'178'309, 24'157'817, 267'914'296};
  std::size_t size_;
};

inline constexpr programs::size_name sizes[] = {{"20", "fib(20): 21,891 calls"},
                                                {"27", "fib(27)"},
                                                {"32", "fib(32)"},
                                                {"37", "fib(37): 126 million calls"},
                                                {"42", "fib(42)"}};
[[nodiscard]] inline programs::description about() noexcept {
  return {"fib", "Fibonacci numbers, a task for each call.", "Mcall", sizes};
}

}  // namespace fib
