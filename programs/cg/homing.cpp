// Homing: loops that go to their rows' homes; homing-placed has the vectors made there, and the matrix, which one
// thread has made, moved there.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>

#include <functional>

#include "../common/tbb_threads.hpp"
#include "loops.hpp"

namespace cg {
namespace {

using range = tbb::blocked_range<std::size_t>;
using vector = homing::distributed_array<double>;

/// Vectors and matrix at home.
class solver_at_home {
 public:
  explicit solver_at_home(const request& r)
      : p_(r),
        x_(p_.rows(), homing::uninitialized),
        z_(p_.rows(), homing::uninitialized),
        d_(p_.rows(), homing::uninitialized),
        q_(p_.rows(), homing::uninitialized),
        r_(p_.rows(), homing::uninitialized) {
    p_.see(x_.data(), z_.data(), d_.data(), q_.data(), r_.data());
    programs::place(p_.along_nonzeros(), p_.a().a, moved_);
    programs::place(p_.along_nonzeros(), p_.a().columns, moved_);
  }
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }
  [[nodiscard]] programs::migration moved() const { return moved_; }

 protected:
  problem p_;

 private:
  vector x_, z_, d_, q_, r_;
  programs::migration moved_;
};

template <class Data>
class dealt : public Data {
 public:
  using Data::Data;

 protected:
  using Data::p_;

  template <class F>
  void each(const F& f) {
    homing::parallel_for(
        range(0, p_.size()), [&](const range& rows) { f(rows.begin(), rows.end()); }, p_.rows());
  }
  template <class F>
  double sum(const F& f) {
    return homing::parallel_reduce(
        range(0, p_.size()), 0.0,
        [&](const range& rows, double so_far) { return so_far + f(rows.begin(), rows.end()); }, std::plus<>(),
        p_.rows());
  }
};

template <class Data>
using solver = solver_by_loops<dealt<Data>>;

}  // namespace
}  // namespace cg

programs::variant_list programs::homing_variants() {
  return {{"homing", "work sent to its home", measure<cg::solver<cg::solver_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<cg::solver<cg::solver_at_home>, tbb_threads>}};
}
