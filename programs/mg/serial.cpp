// One thread, a level at a time.
#include "problem.hpp"

namespace mg {
namespace {

class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) {
    p_.zero_all(*this);
    p_.put_charges();
  }
  void reset() { p_.zero_top(*this); }
  void run() {
    p_.solve(*this);
    p_.found(p_.square_of_residual(p_.top().all()));
    programs::count_work(p_.top().homes, p_.top().all());
  }

  /// f(box) for the points of level k.
  template <class F>
  void over(std::size_t k, const F& f) const {
    const level& l = p_.levels()[k];
    programs::count_work(l.homes, l.all());
    f(l.all());
  }
};

}  // namespace
}  // namespace mg

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<mg::solver, one_thread>}};
}
