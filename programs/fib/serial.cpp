// Plain calls.
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
    return fib(n - 1) + fib(n - 2);
  }
};

}  // namespace
}  // namespace fib

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<fib::solver, one_thread>}};
}
