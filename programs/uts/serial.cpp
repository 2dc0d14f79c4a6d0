// Plain calls.
#include "problem.hpp"

namespace uts {
namespace {

class solver : public problem {
 public:
  using problem::problem;
  void run() { nodes_ = count(root()); }

 private:
  std::uint64_t count(const node& n) const {
    std::uint64_t sum = 1;
    const std::size_t children = children_of(n);
    for (std::size_t i = 0; i < children; ++i) sum += count(child_of(n, i));
    return sum;
  }
};

}  // namespace
}  // namespace uts

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<uts::solver, one_thread>}};
}
