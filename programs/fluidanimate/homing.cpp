// Homing: a task for each partition of the rows, sent to its home, as TBB-NUMA's figure 13 does; there it is divided
// into tasks with the same home. homing-placed has the cells there.
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
    const auto send = [&](const partition& of) { send_rows(group, of.rows, of.home, f); };
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

  /// A task with that home, which sends half of its rows on as another, until few are left. So all that can be stolen
  /// has its home, and its threads come first.
  template <class F>
  void send_rows(homing::task_group& group, programs::interval rows, homing::domain_index home, const F& f) {
    group.run(homing::on(home), [this, &group, rows, home, &f] {
      std::size_t last = rows.last;
      while (last - rows.first > few_rows_) {
        const std::size_t middle = rows.first + (last - rows.first) / 2;
        send_rows(group, {middle, last}, home, f);
        last = middle;
      }
      f(rows.first, last);
    });
  }

  // One for each domain's piece of the rows. The fluid is in few of them, so they are divided into many tasks.
  void divide(std::size_t threads) {
    few_rows_ = std::max<std::size_t>(1, p_.rows().size() / (64 * threads));
    for (std::size_t at = 0; at < p_.rows().size();) {
      const homing::piece piece = p_.rows().run_at(at, p_.rows().size());
      partitions_.push_back({{piece.first, piece.last}, *piece.home});
      at = piece.last;
    }
  }

  std::vector<partition> partitions_;
  std::size_t few_rows_ = 1;
};

}  // namespace
}  // namespace fluid

programs::variant_list programs::homing_variants() {
  using namespace fluid;
  return {{"homing", "tasks sent to their home", measure<solver<solver_in_pages>, tbb_threads>},
          {"homing-placed", "tasks sent, and data enforced", measure<solver<solver_at_home>, tbb_threads>}};
}
