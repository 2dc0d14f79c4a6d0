// A parallel_invoke for each halving.
#include <oneapi/tbb/parallel_invoke.h>

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
    double a = 0;
    double b = 0;
    tbb::parallel_invoke([&] { a = area(h.left); }, [&] { b = area(h.right); });
    return a + b;
  }
};

}  // namespace
}  // namespace integrate

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "parallel_invoke", measure<integrate::solver, tbb_threads>}};
}
