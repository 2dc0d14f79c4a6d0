// Adaptive integration of x^3 + x by halving, a task for each half: a tree whose shape the function decides.
#include <cmath>

#include "../common/models.hpp"
#include "../common/solver_parts.hpp"

namespace {

using namespace programs;

constexpr size_name sizes[] = {{"50", "from 0 to 50, areas to 1e-9"},
                               {"500", "from 0 to 500"},
                               {"2000", "from 0 to 2,000"},
                               {"10000", "from 0 to 10,000"}};
constexpr double ends[] = {50, 500, 2000, 10000};
constexpr double tolerance = 1e-9;

double f(double x) { return (x * x + 1) * x; }

template <class Model>
class solver : public solver_without_data {
 public:
  solver(const request& r, Model& model) : model_(model), size_(r.size) {}
  void run() {
    const double end = ends[size_];
    model_.root([this, end] { result_ = integrate(0, f(0), end, f(end), (f(0) + f(end)) / 2 * end); });
  }
  /// Which halves are added to which does not depend on threads.
  [[nodiscard]] std::string wrong() const {
    serial_model one(1);
    request same;
    same.size = size_;
    solver<serial_model> serial(same, one);
    serial.run();
    if (result_ != serial.result()) return "not the serial result: " + std::to_string(result_);
    const double square = ends[size_] * ends[size_];
    const double exact = square * square / 4 + square / 2;
    return std::abs(result_ - exact) < 1e-9 * exact ? "" : "the integral is " + std::to_string(result_);
  }
  [[nodiscard]] double result() const { return result_; }
  [[nodiscard]] double amount() const { return 1; }

 private:
  double integrate(double x1, double y1, double x2, double y2, double area) {
    const double half = (x2 - x1) / 2;
    const double x0 = x1 + half;
    const double y0 = f(x0);
    const double left = (y1 + y0) / 2 * half;
    const double right = (y0 + y2) / 2 * half;
    if (std::abs(left + right - area) < tolerance) return left + right;
    double a = 0;
    double b = 0;
    model_.invoke([&] { a = integrate(x1, y1, x0, y0, left); }, [&] { b = integrate(x0, y0, x2, y2, right); });
    return a + b;
  }

  Model& model_;
  std::size_t size_;
  double result_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_tasks<solver>(argc, argv, {"integrate", "Adaptive integration by halving.", "run", sizes});
}
