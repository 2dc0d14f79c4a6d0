// Heat flow on a square plate, in trapezoids of space and time: cache-oblivious, and few steps need all threads to
// meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "../common/recursion.hpp"
#include "../common/trapezoids.hpp"
#include "../common/variants.hpp"

namespace heat_program {

using namespace programs;

struct plate {
  std::size_t rows;  ///< inside; the edge is kept at 0
  int steps;
};
inline constexpr size_name sizes[] = {
    {"small", "255 x 255, 64 steps"}, {"medium", "2047 x 2047, 128 steps"}, {"large", "8191 x 8191, 256 steps"}};
inline constexpr plate plates[] = {{255, 64}, {2047, 128}, {8191, 256}};
inline constexpr double speed = 0.2;  // alpha dt / h^2; above 0.25 it is not stable

template <class Deal>
class solver {
 public:
  explicit solver(const request& r)
      : deal_(r.threads),
        plate_(plates[r.size]),
        rows_(homing::block(plate_.rows)),
        width_(plate_.rows + 2),
        now_(width_ * width_),
        next_(width_ * width_) {
    const auto whole_rows = homing::block(width_ * width_, homing::domain_set::all(), width_);
    reset();
    place_home(whole_rows, now_);
    place_home(whole_rows, next_);
  }
  /// The slowest wave of the plate.
  void reset() {
    deal_.over(rows_, [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first + 1; i <= last; ++i) {
        for (std::size_t j = 1; j < width_ - 1; ++j) now_[i * width_ + j] = next_[i * width_ + j] = wave(i) * wave(j);
      }
    });
  }
  void run() {
    deal_.root([this] {
      const auto one_row = [this](int t, std::size_t row) { step(t, row + 1); };
      trapezoids(plate_.rows, one_row).run(plate_.steps, *this);
    });
  }
  /// The trapezoids' blocks, by parts.
  template <class F>
  void over_blocks(const F& f) {
    deal_.over_parts(
        [&](std::uint32_t p) {
          const interval own = blocks_of(plate_.rows, p);
          all_blocks(p, own.first, own.last, f);
        },
        [&](std::uint32_t p) { return &now_[(share_of(plate_.rows, part_count(), p).first + 1) * width_]; });
  }
  /// The scheme's own solution but for rounding, and the plate's as far as the grid resolves it.
  [[nodiscard]] std::string wrong() const {
    const double h = 1.0 / static_cast<double>(plate_.rows + 1);
    const double half = std::sin(std::numbers::pi * h / 2);
    const double of_scheme = std::pow(1 - 8 * speed * half * half, plate_.steps);
    const double exponent = 2 * std::numbers::pi * std::numbers::pi * speed * h * h * plate_.steps;
    const double of_plate = std::exp(-exponent);
    const array<double>& u = plate_.steps % 2 == 0 ? now_ : next_;
    // Comparisons that NaN fails. Second order: the plate's relative error is exponent * O(h^2).
    for (std::size_t i = 0; i < width_; ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        const double start = i % (width_ - 1) == 0 || j % (width_ - 1) == 0 ? 0 : wave(i) * wave(j);
        const double from_scheme = std::abs(u[i * width_ + j] - of_scheme * start);
        const double from_plate = std::abs(u[i * width_ + j] - of_plate * start);
        if (!(from_scheme <= 1e-13 * plate_.steps))
          return "away from the scheme's solution: " + error_at(i, j, from_scheme);
        if (!(from_plate < 10 * exponent * h * h))
          return "away from the plate's solution: " + error_at(i, j, from_plate);
      }
    }
    return "";
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {now_.range(), next_.range()}; }
  /// Millions of points.
  [[nodiscard]] double amount() const {
    return static_cast<double>(plate_.rows) * static_cast<double>(plate_.rows) * plate_.steps / 1e6;
  }

  [[nodiscard]] migration moved() const { return moved_; }

 private:
  template <class Dist, class T>
  void place_home(const Dist& homes, array<T>& data) {
    if constexpr (Deal::places) place(homes, data, moved_);
  }
  [[nodiscard]] static std::string error_at(std::size_t i, std::size_t j, double error) {
    return std::to_string(error) + " at " + std::to_string(i) + ", " + std::to_string(j);
  }
  [[nodiscard]] double wave(std::size_t i) const {
    return std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(plate_.rows + 1));
  }
  template <class F>
  void all_blocks(std::uint32_t p, std::size_t first, std::size_t last, const F& f) {
    if (last - first < 2) {
      if (first < last) f(p, first);
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    deal_.both([&] { all_blocks(p, first, middle, f); }, [&] { all_blocks(p, middle, last, f); });
  }
  void step(int t, std::size_t row) {
    const double* const u = (t % 2 == 0 ? now_ : next_).data() + row * width_;
    double* const __restrict result = (t % 2 == 0 ? next_ : now_).data() + row * width_;
    const double* const above = u - width_;
    const double* const below = u + width_;
    for (std::size_t j = 1; j < width_ - 1; ++j) {
      result[j] = u[j] + speed * (above[j] + below[j] + u[j - 1] + u[j + 1] - 4 * u[j]);
    }
  }

  Deal deal_;
  migration moved_;
  const plate& plate_;
  homing::regular_distribution<1> rows_;
  std::size_t width_;
  array<double> now_, next_;
};

[[nodiscard]] inline programs::description about() noexcept {
  return {"heat", "Heat flow on a plate, cache-oblivious.", "Mpoint", sizes};
}

}  // namespace heat_program
