// One thread: a query after the other.
#include "problem.hpp"

namespace ferret {
namespace {

class solver : public solver_with_index {
 public:
  using solver_with_index::solver_with_index;
  void run() {
    for (std::size_t q = 0; q < p_.queries(); ++q) p_.whole(q);
  }
};

}  // namespace
}  // namespace ferret

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<ferret::solver, one_thread>}};
}
