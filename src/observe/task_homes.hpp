/// Where a thread ran the tasks of which home: what the two counters of home and away leave out.
///
/// The common case, a task at home, costs nothing here: those of the present domain are the counter's, and the table
/// is told only when the thread changes its domain (an application's thread does, at an arrival).
/// Threads: the owner writes; any thread may read counts that are a few old. Rows are never freed.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace homing::observe {

class task_homes {
 public:
  /// A task of `home` ran in another domain. `domain_count`: of the machine, above both.
  void ran_away(unsigned ran_in, unsigned home, unsigned domain_count) noexcept {
    row* r = newest_.load(sync::relaxed);
    if (r == nullptr || r->ran_in != ran_in) r = row_of(ran_in, domain_count);
    if (r == nullptr || home >= r->size) return;
    add(r->count[home], 1);
  }
  /// The thread leaves a domain; `at_home` is its count of tasks at home so far, in all domains.
  void leave_domain(unsigned domain, std::uint64_t at_home, unsigned domain_count) noexcept;
  /// In the child of a fork: what the thread ran before is its parent's.
  void begin_anew() noexcept;

  /// Calls f(ran in, home, tasks) for each pair that occurred; a pair may come twice. `domain` and `at_home` are the
  /// thread's present ones.
  template <class F>
  void for_each(unsigned domain, std::uint64_t at_home, F&& f) const {
    // acquire: partner of row_of(), whose row is whole then.
    for (const row* r = newest_.load(sync::acquire); r != nullptr; r = r->next) {
      for (unsigned home = 0; home < r->size; ++home) {
        const std::uint64_t tasks = r->count[home].load(sync::relaxed);
        if (tasks > 0) f(r->ran_in, home, tasks);
      }
    }
    const std::uint64_t accounted = accounted_.load(sync::relaxed);
    if (at_home > accounted) f(domain, domain, at_home - accounted);
  }

 private:
  struct row {
    unsigned ran_in;
    unsigned size;
    row* next;
    sync::atomic<std::uint64_t>* count;  // by home
  };
  // Null if there is no memory: those tasks are counted as away, and left out here.
  row* row_of(unsigned ran_in, unsigned domain_count) noexcept;
  static void add(sync::atomic<std::uint64_t>& count, std::uint64_t more) noexcept {
    count.store(count.load(sync::relaxed) + more, sync::relaxed);  // relaxed: one writer, nothing is published by it
  }

  sync::atomic<row*> newest_{nullptr};
  sync::atomic<std::uint64_t> accounted_{0};  // of the tasks at home, those that are in rows
};

}  // namespace homing::observe
