// One thread.
#include "problem.hpp"

namespace streamcluster {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) { touch(*this); }
  void run() { p_.run(*this); }

  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) const {
    f(std::size_t{0}, blocks.size());
  }
};

}  // namespace
}  // namespace streamcluster

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<streamcluster::solver, one_thread>}};
}
