// OpenMP: one parallel region for all V-cycles; in it all threads go through the same loops, each of which deals a
// level's rows to them.
#include "../common/openmp.hpp"
#include "problem.hpp"

namespace mg {
namespace {

using programs::binding;

template <binding Threads>
class solver : public solver_in_pages {
 public:
  explicit solver(const request& r) : solver_in_pages(r) {
    programs::in_team<Threads>([this] { p_.zero_all(*this); });
    p_.put_charges();
  }
  void reset() {
    programs::in_team<Threads>([this] { p_.zero_top(*this); });
  }
  void run() {
    double square = 0;
    programs::in_team<Threads>([this, &square] {
      p_.solve(*this);
      add_squares(square);
    });
    p_.found(square);
  }

  /// f(box) for the points of level k, by all threads. A row is the least that is dealt: coarse levels have few planes.
  template <class F>
  void over(std::size_t k, const F& f) {
    const level& l = p_.levels()[k];
    const std::size_t rows = l.side * l.side;
    count(l);
#pragma omp for schedule(static)
    for (std::size_t n = 0; n < rows; ++n) f(l.row(n));
  }

 private:
  static void count(const level& l) {
    const programs::interval own = programs::static_share(l.side * l.side);
    l.for_each_box(own.first, own.last, [&](const box<3>& part) { programs::count_work(l.homes, part); });
  }
  void add_squares(double& square) {
    const level& l = p_.top();
    const std::size_t rows = l.side * l.side;
    count(l);
#pragma omp for schedule(static) reduction(+ : square)
    for (std::size_t n = 0; n < rows; ++n) square += p_.square_of_residual(l.row(n));
  }
};

}  // namespace
}  // namespace mg

programs::variant_list programs::openmp_variants() {
  return {{"openmp", "one region, worksharing loops", measure<mg::solver<binding::none>, openmp_threads>},
          {"openmp-affinity", "the same with OMP_PLACES and proc_bind",
           measure<mg::solver<binding::places>, openmp_threads>}};
}
