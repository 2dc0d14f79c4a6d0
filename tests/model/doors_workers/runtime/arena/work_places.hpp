/// An arena's work in a model: so many tasks that were spawned, so many that were enqueued, and stacks that may go on.
/// Deques, queues and mailboxes have models of their own. Slots and searchers are the production's.
#pragma once

#include <memory>
#include <span>

#include "runtime/arena/arena_memory.hpp"
#include "runtime/arena/searcher_counts.hpp"
#include "runtime/arena/slot_hold.hpp"
#include "runtime/settings/steal_policy.hpp"
#include "runtime/task/resume_queue.hpp"
#include "runtime/task/search_scope.hpp"
#include "runtime/task/task_access.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

/// How many tasks lie there. Adding is a release and taking an acquire, as in deques and queues.
class work_pile {
 public:
  void push() noexcept { count_.fetch_add(1, sync::release); }
  void push(task& /*t*/, unsigned /*pusher*/ = 0) noexcept { push(); }
  [[nodiscard]] bool take() noexcept {
    int seen = count_.load(sync::relaxed);
    while (seen > 0 && !count_.compare_exchange_strong(seen, seen - 1, sync::acquire, sync::relaxed)) {
    }
    return seen > 0;
  }
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  [[nodiscard]] int count() const noexcept { return count_.load(sync::relaxed); }

 private:
  sync::atomic<int> count_{0};
};

struct arena_slot {
  struct deque {
    [[nodiscard]] static bool looks_empty() noexcept { return true; }
  } tasks;
  slot_hold hold;
  sync::atomic<domain_index> domain{domain_index{}};
  domain_index home{};
  dispatcher* base = nullptr;
  sync::atomic<bool> absent{false};
  search_flag searching;
  sync::atomic<std::int64_t> search_began_ns{0};
  sync::atomic<std::int64_t> searches_since_ns{0};
};

struct arena_domain {
  sync::atomic<int> active{0};
  sync::atomic<int> allotted{0};
  unsigned first_slot = 0;
  unsigned last_slot = 0;
  work_pile enqueued;
  work_pile detached;
};

class work_places {
 public:
  struct counts {
    unsigned slots;
    unsigned domains;
  };
  [[nodiscard]] static constexpr std::size_t bytes_for(counts c) noexcept {
    return c.slots * sizeof(arena_slot) + c.domains * (sizeof(arena_domain) + sizeof(searcher_counts::line));
  }
  work_places(arena_room& room, counts c, steal_policy /*steal*/, idle_rule /*mailbox_idle*/) noexcept
      : searching(room.make<searcher_counts::line>(c.domains)),
        slots_(room.make<arena_slot>(c.slots)),
        domains_(room.make<arena_domain>(c.domains)) {}
  ~work_places() {
    std::destroy(slots_.begin(), slots_.end());
    std::destroy(domains_.begin(), domains_.end());
    ++ended;
  }
  work_places(const work_places&) = delete;
  work_places& operator=(const work_places&) = delete;

  static inline int ended = 0;  ///< arenas, in this execution

  /// One domain after the other.
  void deal_slots(std::span<const unsigned> /*cpus_by_domain*/) noexcept {
    for (unsigned i = 0; i < slot_count(); ++i) {
      slots_[i].home = domain_index{i * domain_count() / slot_count()};
      slots_[i].domain.store(slots_[i].home, sync::relaxed);
      arena_domain& home = domain(slots_[i].home);
      home.first_slot = home.last_slot == 0 ? i : home.first_slot;
      home.last_slot = i + 1;
    }
  }
  [[nodiscard]] unsigned slot_count() const noexcept { return static_cast<unsigned>(slots_.size()); }
  [[nodiscard]] unsigned domain_count() const noexcept { return static_cast<unsigned>(domains_.size()); }
  [[nodiscard]] domain_range all_domains() const noexcept { return domain_range(domain_count()); }
  [[nodiscard]] arena_slot& slot(slot_id s) noexcept { return slots_[to_index(s)]; }
  [[nodiscard]] const arena_slot& slot(slot_id s) const noexcept { return slots_[to_index(s)]; }
  [[nodiscard]] std::span<arena_slot> slots() noexcept { return slots_; }
  [[nodiscard]] std::span<const arena_slot> slots() const noexcept { return slots_; }
  [[nodiscard]] arena_domain& domain(domain_index d) noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] const arena_domain& domain(domain_index d) const noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] static bool thieves_stay() noexcept { return false; }
  [[nodiscard]] static idle_rule mailbox_idle() noexcept { return idle_rule::homing; }
  [[nodiscard]] domain_index home_of(affinity a) const noexcept { return slot(slot_of(a)).home; }
  [[nodiscard]] static bool put_into_mailbox(affinity, std::uintptr_t, std::uint64_t) noexcept { return false; }

  static constexpr domain_index anybody = no_domain;
  static constexpr domain_index no_home = no_domain;
  [[nodiscard]] bool has_work(const search_scope& scope, domain_index /*by_domain*/) const noexcept {
    return !resumed.empty() || has_task(scope, anybody);
  }
  [[nodiscard]] bool has_work(isolation_tag isolation, domain_index by_domain) const noexcept {
    return has_work(search_scope{.isolation = isolation}, by_domain);
  }
  [[nodiscard]] bool has_task(const search_scope& scope, domain_index /*by_domain*/) const noexcept {
    return (scope.fits(no_isolation) && scope.may_steal && !spawned.empty()) ||
           (scope.fits(tag_of_isolated) && scope.may_steal && !isolated.empty()) ||
           (scope.takes_critical && scope.fits(no_isolation) && !critical.empty()) ||
           (scope.takes_enqueued && scope.isolation == no_isolation && has_enqueued());
  }
  [[nodiscard]] bool has_common_task(const search_scope& /*scope*/) const noexcept {
    return has_enqueued() || !critical.empty();
  }
  [[nodiscard]] bool has_tasks_for(unsigned threads) const noexcept {
    return spawned.count() + isolated.count() >= static_cast<int>(threads);
  }
  [[nodiscard]] bool has_enqueued() const noexcept { return !unaddressed.empty() || !delegated.empty(); }
  [[nodiscard]] bool has_enqueued_for(domain_index /*by_domain*/) const noexcept { return has_enqueued(); }
  [[nodiscard]] static bool is_left_to(domain_index /*home*/) noexcept { return false; }
  /// As in production. [A23]
  [[nodiscard]] bool may_have_pusher(slot_id but) const noexcept {
    for (unsigned i = 0; i < slot_count(); ++i) {
      if (i != to_index(but) && may_push_lightly(slots_[i].hold, slots_[i].searching)) {
        return true;
      }
    }
    return false;
  }
  static void ask_for_forks() noexcept {}
  [[nodiscard]] static bool has_lanes() noexcept { return false; }

  static constexpr isolation_tag tag_of_isolated = 1;
  work_pile spawned;      ///< in some deque
  work_pile isolated;     ///< the same, in an isolated region
  work_pile unaddressed;  ///< enqueued
  work_pile delegated;
  work_pile critical;
  work_pile overflowed;
  resume_queue resumed;
  searcher_counts searching;

 private:
  std::span<arena_slot> slots_;
  std::span<arena_domain> domains_;
};

}  // namespace homing::scheduler
