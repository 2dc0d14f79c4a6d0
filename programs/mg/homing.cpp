// Homing: loops that go to the homes of their boxes, a grid of domains at every level; homing-placed has the levels
// made there.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>

#include <deque>
#include <functional>

#include "../common/tbb_threads.hpp"
#include "ranges.hpp"

namespace mg {
namespace {

/// Arrays at home.
class solver_at_home {
 public:
  explicit solver_at_home(const request& r) : p_(r) {
    const auto made = [this](const level& l) { return arrays_.emplace_back(l.homes, homing::uninitialized).data(); };
    for (level& l : p_.levels()) {
      l.u = made(l);
      l.r = made(l);
    }
    p_.see_charges(made(p_.top()));
  }
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  problem p_;

 private:
  std::deque<homing::distributed_array<double, 3>> arrays_;
};

template <class Data>
class solver : public Data {
 public:
  explicit solver(const request& r) : Data(r) {
    p_.zero_all(*this);
    p_.put_charges();
  }
  void reset() { p_.zero_top(*this); }
  void run() {
    p_.solve(*this);
    const auto square = [this](const range& r, double so_far) { return so_far + square_of(r); };
    p_.found(homing::parallel_reduce(all_of(p_.top()), 0.0, square, std::plus<>(), p_.top().homes));
  }

  /// f(box) for the points of level k.
  template <class F>
  void over(std::size_t k, const F& f) {
    const level& l = p_.levels()[k];
    homing::parallel_for(
        all_of(l), [&](const range& r) { counted(l, r, f); }, l.homes);
  }

 private:
  using Data::p_;
  double square_of(const range& r) const {
    return counted(p_.top(), r, [this](const box<3>& part) { return p_.square_of_residual(part); });
  }
};

}  // namespace
}  // namespace mg

programs::variant_list programs::homing_variants() {
  return {{"homing", "work sent to its home", measure<mg::solver<mg::solver_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<mg::solver<mg::solver_at_home>, tbb_threads>}};
}
