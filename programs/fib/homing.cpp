// A fork and a join for each call.
#include <homing/fork_join.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace fib {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { result_ = fib(argument()); }

 private:
  static std::uint64_t fib(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    const auto [a, b] = homing::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return a + b;
  }
};

}  // namespace
}  // namespace fib

programs::variant_list programs::homing_variants() {
  return {{"homing", "fork_join", measure<fib::solver, tbb_threads>}};
}
