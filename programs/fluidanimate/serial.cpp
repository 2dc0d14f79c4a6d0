// One thread.
#include "problem.hpp"

namespace fluid {
namespace {

class solver : public solver_in_pages {
 public:
  using solver_in_pages::solver_in_pages;
  void reset() {
    p_.clear(*this);
    p_.fill();
  }
  void run() { p_.run(*this); }

  template <class F>
  void over(const F& f) const {
    f(std::size_t{0}, p_.rows().size());
  }
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<fluid::solver, one_thread>}};
}
