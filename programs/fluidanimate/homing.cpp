// Homing: a task for each partition of the rows, sent to its home, as TBB-NUMA's figure 13 does; there it is divided
// further, as far as somebody has nothing to do. homing-placed has the cells there.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <homing/distributed_array.hpp>
#include <homing/tasks.hpp>

#include "../common/parts.hpp"
#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace fluid {
namespace {

/// Cells made at home.
class solver_at_home : public solver_in<homing::distributed_array<cell>> {
 public:
  explicit solver_at_home(const request& r)
      : solver_in(r, [](const problem& p) {
          return homing::distributed_array<cell>(p.homes_of_cells(), homing::uninitialized);
        }) {}
};

template <class Data>
class solver : public Data {
 public:
  explicit solver(const request& r) : Data(r) { divide(static_cast<std::size_t>(r.threads)); }
  void reset() {
    p_.clear(*this);
    p_.fill();
  }
  void run() { p_.run(*this); }

  /// Those of other domains first, so that they have left when this thread takes its own, the newest.
  template <class F>
  void over(const F& f) {
    homing::task_group group;
    const homing::domain_index here = homing::current_domain();
    using range = tbb::blocked_range<std::size_t>;
    const auto send = [&](const partition& of) {
      group.run(homing::on(of.home), [&f, &of] {
        tbb::parallel_for(range(of.rows.first, of.rows.last), [&f](const range& r) { f(r.begin(), r.end()); });
      });
    };
    for (const partition& of : partitions_) {
      if (of.home != here) send(of);
    }
    for (const partition& of : partitions_) {
      if (of.home == here) send(of);
    }
    group.wait();
  }

 private:
  using Data::p_;
  struct partition {
    programs::interval rows;
    homing::domain_index home;
  };

  // One for each thread of its domain.
  void divide(std::size_t threads) {
    const std::size_t a_domain = std::max<std::size_t>(1, threads / programs::part_count());
    for (std::size_t at = 0; at < p_.rows().size();) {
      const homing::piece piece = p_.rows().run_at(at, p_.rows().size());
      const std::size_t size = piece.last - piece.first;
      const std::size_t parts = std::min(size, a_domain);
      for (std::size_t i = 0; i < parts; ++i) {
        const programs::interval own = programs::share_of(size, parts, i);
        partitions_.push_back({{piece.first + own.first, piece.first + own.last}, *piece.home});
      }
      at = piece.last;
    }
  }

  std::vector<partition> partitions_;
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::homing_variants() {
  using namespace fluid;
  return {{"homing", "tasks sent to their home", measure<solver<solver_in_pages>, tbb_threads>},
          {"homing-placed", "tasks sent, and data enforced", measure<solver<solver_at_home>, tbb_threads>}};
}
