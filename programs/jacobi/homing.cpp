// Homing: loops that go to the homes of their blocks of sites; homing-placed has the lattices there, and homing-nt
// stores past the caches, too.
#include <homing/parallel_for.hpp>

#include "../common/tbb_threads.hpp"
#include "at_home.hpp"

namespace jacobi_program {
namespace {

enum class stores { plain, past_caches };

template <class Data, stores How = stores::plain>
class solver : public Data {
 public:
  using Data::Data;
  void reset() {
    over([this](std::size_t first, std::size_t last) { p_.touch(first, last); });
  }
  void run() {
    for (int s = 0; s < p_.sweeps(); ++s) {
      over([this, s](std::size_t first, std::size_t last) {
        if constexpr (How == stores::plain) {
          p_.sweep(s, first, last);
        } else {
          p_.sweep_past_caches(s, first, last);
        }
      });
    }
  }

 private:
  using Data::p_;
  template <class F>
  void over(const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    homing::parallel_for(
        range(0, p_.blocks().size()), [&f](const range& r) { f(r.begin(), r.end()); }, p_.blocks());
  }
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list programs::homing_variants() {
  using namespace jacobi_program;
  return {{"homing", "work sent to its home", measure<solver<solver_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<solver<solver_at_home>, tbb_threads>}};
}

programs::variant_list jacobi_program::homing_nt_variants() {
  return {{"homing-nt", "homing-placed with non-temporal stores",
           programs::measure<solver<solver_at_home, stores::past_caches>, programs::tbb_threads>}};
}
