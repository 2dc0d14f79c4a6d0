// The two arrays of a run: fresh pages each time, since where they live is what is measured.
#pragma once

#include <homing/placement.hpp>

#include <cstddef>
#include <utility>

#include "lattice.hpp"

namespace jacobi {

/// An array of doubles in pages of its own, untouched at first.
/// Errors: std::bad_alloc. Threads: like a container.
class fresh_array {
 public:
  explicit fresh_array(std::size_t count);
  fresh_array(fresh_array&& other) noexcept
      : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)), dealt_(std::move(other.dealt_)) {}
  fresh_array& operator=(fresh_array&&) = delete;
  ~fresh_array();

  [[nodiscard]] double* data() const noexcept { return static_cast<double*>(data_); }
  [[nodiscard]] homing::memory_range range() const noexcept { return {data_, bytes_}; }
  /// Deals the pages over the nodes by turns, as `numactl --interleave` does.
  void interleave() { dealt_ = homing::interleave(range()); }

 private:
  std::size_t bytes_;
  void* data_;
  homing::placed_range dealt_;
};

/// Each sweep reads one and writes the other, and then they change places.
class array_pair {
 public:
  explicit array_pair(const lattice& l)
      : first_(l.values()), second_(l.values()), from_(first_.data()), to_(second_.data()) {}
  array_pair(const array_pair&) = delete;
  array_pair& operator=(const array_pair&) = delete;

  [[nodiscard]] const double* from() const noexcept { return from_; }
  [[nodiscard]] double* to() const noexcept { return to_; }
  /// For touching both.
  [[nodiscard]] double* first() const noexcept { return first_.data(); }
  [[nodiscard]] double* second() const noexcept { return second_.data(); }
  void swap() noexcept { std::swap(from_, to_); }
  void interleave() {
    first_.interleave();
    second_.interleave();
  }

 private:
  fresh_array first_;
  fresh_array second_;
  double* from_;
  double* to_;
};

}  // namespace jacobi
