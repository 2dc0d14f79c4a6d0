// Several sweeps in one pass through memory, by groups of threads that share caches (the paper's outlook): each
// domain's planes advance in trapezoids of space and time, at home.
#include <homing/parallel_for.hpp>

#include "../common/homing_parts.hpp"
#include "../common/tbb_threads.hpp"
#include "../common/trapezoids.hpp"
#include "at_home.hpp"

namespace jacobi_program {
namespace {

class solver : public solver_at_home {
 public:
  using solver_at_home::solver_at_home;
  void reset() {
    using range = tbb::blocked_range<std::size_t>;
    homing::parallel_for(
        range(0, p_.blocks().size()), [this](const range& r) { p_.touch(r.begin(), r.end()); }, p_.blocks());
  }
  /// All lattices as one: that the first plane of one waits for the last of the one before does no harm.
  void run() {
    const auto step = [this](int s, std::size_t plane) { p_.sweep_plane(s, plane); };
    programs::trapezoids(p_.planes(), step).run(p_.sweeps(), *this);
  }

  template <class F>
  void over_blocks(const F& f) {
    programs::send_parts([&](std::uint32_t p) {
      const programs::interval own = programs::blocks_of(p_.planes(), p);
      tbb::parallel_for(own.first, own.last, [&f, p](std::size_t b) { f(p, b); });
    });
  }
};

}  // namespace
}  // namespace jacobi_program

programs::variant_list jacobi_program::homing_temporal_variants() {
  return {{"homing-temporal", "homing-placed, several sweeps in one pass (trapezoids)",
           programs::measure<solver, programs::tbb_threads>}};
}
