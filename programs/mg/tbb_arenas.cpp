// A task_arena for each NUMA node, with a block of planes of each level: oneTBB's advice.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <functional>

#include "../common/node_arenas.hpp"
#include "ranges.hpp"

namespace mg {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r), arenas_(r.threads), squares_(arenas_.count()) {
    p_.zero_all(*this);
    p_.put_charges();
  }
  void reset() { p_.zero_top(*this); }
  void run() {
    p_.solve(*this);
    arenas_.in_each([this](std::size_t a) {
      const programs::interval own = programs::share_of(p_.top().side, arenas_.count(), a);
      squares_[a].value = tbb::parallel_reduce(
          planes_of(p_.top(), own.first, own.last), 0.0,
          [this](const range& r, double so_far) { return so_far + square_of(r); }, std::plus<>(),
          tbb::static_partitioner{});
    });
    double all = 0;
    for (const part_of_sum& s : squares_) all += s.value;
    p_.found(all);
  }

  /// f(box) for the points of level k.
  template <class F>
  void over(std::size_t k, const F& f) {
    const level& l = p_.levels()[k];
    arenas_.deal(l.side, [&](std::size_t first, std::size_t last) {
      tbb::parallel_for(
          planes_of(l, first, last), [&](const range& r) { counted(l, r, f); }, tbb::static_partitioner{});
    });
  }

 private:
  double square_of(const range& r) const {
    return counted(p_.top(), r, [this](const box<3>& part) { return p_.square_of_residual(part); });
  }

  struct alignas(64) part_of_sum {
    double value = 0;
  };
  programs::node_arenas arenas_;
  std::vector<part_of_sum> squares_;  ///< an arena's each
};

}  // namespace
}  // namespace mg

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "one task_arena for each NUMA node", measure<mg::solver, tbb_limit>}};
}
