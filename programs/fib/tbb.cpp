// A parallel_invoke for each call.
#include <oneapi/tbb/parallel_invoke.h>

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
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    tbb::parallel_invoke([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
    return a + b;
  }
};

}  // namespace
}  // namespace fib

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "parallel_invoke", measure<fib::solver, tbb_threads>}};
}
