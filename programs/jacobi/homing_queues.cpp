// TBB's loop through locality queues (the paper's section 3.2): each part of it puts its blocks into their homes'
// queues, and takes as many out, near ones first.
#include <homing/locality_queues.hpp>
#include <homing/parallel_for.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace jacobi_program {
namespace {

using queues = homing::locality_queues<std::size_t>;
using range = tbb::blocked_range<std::size_t>;

class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    homing::parallel_for(
        range(0, p_.blocks().size()), [this](const range& r) { p_.touch(r.begin(), r.end()); }, p_.blocks());
  }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) {
      const auto blocks = [this](const range& r, auto put) {
        for (std::size_t b = r.begin(); b != r.end(); ++b) put(p_.blocks().home_of(b), b);
      };
      const auto sweep = [this, s](const queues::entry& taken) { p_.sweep(s, taken.item, taken.item + 1); };
      tbb::parallel_for(range(0, p_.blocks().size()), homing::through_queues(queues_, blocks, sweep));
    }
  }

 private:
  queues queues_;
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list jacobi_program::homing_queues_variants() {
  return {{"homing-queues", "parallel_for through locality queues", programs::measure<solver, programs::tbb_threads>}};
}
