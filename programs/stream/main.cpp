// STREAM's four kernels, dealt statically; with the pages of each part near its threads, or one domain further: far.
#include <cmath>
#include <limits>
#include <vector>

#include "../common/models.hpp"

namespace {

using namespace programs;

constexpr size_name sizes[] = {
    {"small", "3 x 8 MiB"},    {"small-far", "the same, each part's pages in the next domain"},
    {"medium", "3 x 128 MiB"}, {"medium-far", "the same, far"},
    {"large", "3 x 1 GiB"},    {"large-far", "the same, far"}};
constexpr std::size_t elements[] = {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 27};
constexpr int loops = 10;
constexpr double scalar = 0.41;  // STREAM's 3.0 would overflow after enough loops

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : model_(model), all_(elements[r.size / 2]), a_(all_.size()), b_(all_.size()), c_(all_.size()) {
    model_.loop(all_, [this](std::size_t first, std::size_t last) {  // STREAM's first values, touched as they are used
      for (std::size_t i = first; i < last; ++i) {
        a_[i] = 1;
        b_[i] = 2;
        c_[i] = 0;
      }
    });
    for (array<double>* v : {&a_, &b_, &c_}) {
      if (r.size % 2 == 0) {
        model_.place(all_.homes(), *v);
      } else {
        v->place(one_further());
      }
    }
  }
  void reset() {}
  void run() {
    for (int l = 0; l < loops; ++l) {
      kernel([](double a, double, double& c) { c = a; });
      kernel([](double, double& b, double c) { b = scalar * c; });
      kernel([](double a, double b, double& c) { c = a + b; });
      kernel_a();
      expect();
    }
  }
  [[nodiscard]] std::string wrong() const {
    const double error = std::max({distance(a_, expected_a_), distance(b_, expected_b_), distance(c_, expected_c_)});
    return error < 1e-13 ? "" : "the largest relative error is " + std::to_string(error);
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {a_.range(), b_.range(), c_.range()}; }
  /// Megabytes as STREAM counts them: two, two, three and three arrays.
  [[nodiscard]] double amount() const { return loops * 10.0 * sizeof(double) * static_cast<double>(all_.size()) / 1e6; }

 private:
  [[nodiscard]] homing::regular_distribution<1> one_further() const {
    std::vector<homing::domain_index> members;
    for (std::uint32_t p = 1; p <= part_count(); ++p) members.push_back(homing::domain_index{p % part_count()});
    return homing::block(all_.size(), homing::domain_set(members));
  }
  template <class F>
  void kernel(const F& f) {
    model_.loop(all_, [this, &f](std::size_t first, std::size_t last) {
      const double* const a = a_.data();
      double* const __restrict b = b_.data();
      double* const __restrict c = c_.data();
      for (std::size_t i = first; i < last; ++i) f(a[i], b[i], c[i]);
    });
  }
  void kernel_a() {
    model_.loop(all_, [this](std::size_t first, std::size_t last) {
      double* const __restrict a = a_.data();
      const double* const b = b_.data();
      const double* const c = c_.data();
      for (std::size_t i = first; i < last; ++i) a[i] = b[i] + scalar * c[i];
    });
  }
  /// One element goes the same way.
  void expect() {
    expected_c_ = expected_a_;
    expected_b_ = scalar * expected_c_;
    expected_c_ = expected_a_ + expected_b_;
    expected_a_ = expected_b_ + scalar * expected_c_;
  }
  static double distance(const array<double>& v, double expected) {
    double most = 0;
    for (const double e : v) most = std::max(most, std::abs(e - expected) / std::abs(expected));
    return most;
  }

  Model& model_;
  space all_;
  array<double> a_, b_, c_;
  double expected_a_ = 1, expected_b_ = 2, expected_c_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_loops<solver>(argc, argv, {"stream", "STREAM: copy, scale, add, triad.", "MB", sizes});
}
