#include "measure/stream_check.hpp"

#include <fmt/format.h>

#include <cmath>

namespace homing::measure {

stream_values expected_values(std::span<const kernel> kernels, std::size_t rounds) noexcept {
  stream_values v;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const kernel k : kernels) {
      // Not run_kernel(): the check must not share its mistakes.
      if (k == kernel::copy) v.c = v.a;
      if (k == kernel::scale) v.b = stream_scalar * v.c;
      if (k == kernel::add) v.c = v.a + v.b;
      if (k == kernel::triad) v.a = v.b + stream_scalar * v.c;
    }
  }
  return v;
}

void stream_errors::look_at(of_array& sums, const double* values, const stream_part& part, double expected) noexcept {
  sums.expected = expected;
  const double bound = relative_error_max * (expected == 0 ? 1 : std::fabs(expected));
  for (std::size_t i = part.first; i < part.last; ++i) {
    const double error = std::fabs(values[i] - expected);
    sums.error_sum += error;
    if (error <= bound) continue;  // not "error > bound": a NaN is wrong, too
    if (sums.wrong++ == 0) {
      sums.seen = values[i];
      sums.at = i;
    }
  }
}

void stream_errors::look_at(const stream_part& part, const stream_values& expected) noexcept {
  look_at(arrays_[0], part.a, part, expected.a);
  look_at(arrays_[1], part.b, part, expected.b);
  look_at(arrays_[2], part.c, part, expected.c);
  elements_ += part.last - part.first;
}

void stream_errors::merge(const stream_errors& other) noexcept {
  for (std::size_t i = 0; i < 3; ++i) {
    of_array& mine = arrays_[i];
    const of_array& theirs = other.arrays_[i];
    mine.error_sum += theirs.error_sum;
    if (mine.wrong == 0) {
      mine.seen = theirs.seen;
      mine.at = theirs.at;
    }
    mine.wrong += theirs.wrong;
    if (elements_ == 0) mine.expected = theirs.expected;
  }
  elements_ += other.elements_;
}

std::optional<std::string> stream_errors::verdict() const {
  if (elements_ == 0) return "no element was looked at";
  for (std::size_t i = 0; i < 3; ++i) {
    const of_array& one = arrays_[i];
    const double mean = one.error_sum / static_cast<double>(elements_);
    const double bound = relative_error_max * (one.expected == 0 ? 1 : std::fabs(one.expected));
    if (one.wrong == 0 && mean <= bound) continue;
    return fmt::format("array {}: {} of {} elements are wrong; element {} holds {:.17g}, expected {:.17g}", "abc"[i],
                       one.wrong, elements_, one.at, one.seen, one.expected);
  }
  return std::nullopt;
}

}  // namespace homing::measure
