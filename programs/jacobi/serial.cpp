// One thread.
#include "problem.hpp"

namespace jacobi_program {
namespace {

class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() { p_.touch(0, p_.blocks().size()); }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) p_.sweep(s, 0, p_.blocks().size());
  }
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<jacobi_program::solver, one_thread>}};
}
