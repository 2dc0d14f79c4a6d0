/// Whether the arrays hold what the kernels should have left in them, as STREAM checks it.
///
/// The same operations on one element in scalar variables give what each array should hold; its mean error must be
/// within 1e-13 of that. A mean hides one wrong element among millions, so that single elements are held to the same
/// bound as well.
/// Source: STREAM (stream.c 5.10), checkSTREAMresults.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "measure/kernels.hpp"

namespace homing::measure {

inline constexpr double relative_error_max = 1e-13;

struct stream_values {
  double a = initial_a;
  double b = initial_b;
  double c = initial_c;
};

/// What the arrays hold after `rounds` rounds of `kernels`, in their order.
[[nodiscard]] stream_values expected_values(std::span<const kernel> kernels, std::size_t rounds) noexcept;

/// Errors found in the elements of a part; those of several parts add up. Threads: each has its own.
class stream_errors {
 public:
  void look_at(const stream_part& part, const stream_values& expected) noexcept;
  void merge(const stream_errors& other) noexcept;
  /// Nothing if all is well; otherwise which array is wrong and by how much, for people.
  [[nodiscard]] std::optional<std::string> verdict() const;

 private:
  struct of_array {
    double error_sum = 0;
    std::size_t wrong = 0;
    double expected = 0;
    double seen = 0;  // the first wrong element
    std::size_t at = 0;
  };
  static void look_at(of_array& sums, const double* values, const stream_part& part, double expected) noexcept;

  of_array arrays_[3];
  std::size_t elements_ = 0;
};

}  // namespace homing::measure
