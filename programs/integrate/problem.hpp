// Adaptive integration of x^3 + x by halving, a task for each half: a tree whose shape the function decides.
#pragma once

#include <homing/placement.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "../common/variants.hpp"

namespace integrate {

using programs::request;

/// A piece of the axis: its ends, the function there, and the area by one trapezium.
struct piece {
  double x1, y1, x2, y2, area;
};

/// The function, how a piece is halved, and whether the sum is right. Which halves are added to which does not depend
/// on threads.
class problem {
 public:
  explicit problem(const request& r) : size_(r.size) {}
  void reset() {}
  [[nodiscard]] std::string wrong() const {
    if (result_ != serial(all())) return "not the serial result: " + std::to_string(result_);
    const double square = ends[size_] * ends[size_];
    const double exact = square * square / 4 + square / 2;
    return std::abs(result_ - exact) < 1e-9 * exact ? "" : "the integral is " + std::to_string(result_);
  }
  [[nodiscard]] double amount() const { return 1; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }

  /// Its halves; their areas together are good enough if is_fine().
  struct halves {
    piece left, right;
    [[nodiscard]] double area() const { return left.area + right.area; }
  };
  [[nodiscard]] static halves halve(const piece& p) {
    const double half = (p.x2 - p.x1) / 2;
    const double x0 = p.x1 + half;
    const double y0 = f(x0);
    return {{p.x1, p.y1, x0, y0, (p.y1 + y0) / 2 * half}, {x0, y0, p.x2, p.y2, (y0 + p.y2) / 2 * half}};
  }
  [[nodiscard]] static bool is_fine(const piece& p, const halves& h) {
    return std::abs(h.left.area + h.right.area - p.area) < tolerance;
  }
  static double serial(const piece& p) {
    const halves h = halve(p);
    return is_fine(p, h) ? h.area() : serial(h.left) + serial(h.right);
  }

 protected:
  [[nodiscard]] piece all() const {
    const double end = ends[size_];
    return {0, f(0), end, f(end), (f(0) + f(end)) / 2 * end};
  }
  double result_ = 0;

 private:
  static constexpr double ends[] = {50, 500, 2000, 10000};
  static constexpr double tolerance = 1e-9;
  [[nodiscard]] static double f(double x) { return (x * x + 1) * x; }
  std::size_t size_;
};

inline constexpr programs::size_name sizes[] = {{"50", "from 0 to 50, areas to 1e-9"},
                                                {"500", "from 0 to 500"},
                                                {"2000", "from 0 to 2,000"},
                                                {"10000", "from 0 to 10,000"}};
[[nodiscard]] inline programs::description about() noexcept {
  return {"integrate", "Adaptive integration by halving.", "run", sizes};
}

}  // namespace integrate
