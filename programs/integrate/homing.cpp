// A fork and a join for each halving.
#include <homing/fork_join.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace integrate {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = area(all()); }

 private:
  static double area(const piece& p) {
    const halves h = halve(p);
    if (is_fine(p, h)) return h.area();
    const auto [a, b] =
        homing::fork_join([left = h.left] { return area(left); }, [right = h.right] { return area(right); });
    return a + b;
  }
};

}  // namespace
}  // namespace integrate

programs::variant_list programs::homing_variants() {
  return {{"homing", "fork_join", measure<integrate::solver, tbb_threads>}};
}
