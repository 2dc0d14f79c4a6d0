/// Who works where: deals workers over the domains, and their time over the arenas (the paper's RML).
///
/// Workers are made when first needed, bound to a domain for life, and sleep here between arenas. The manager allots
/// each arena that wants workers a number of them, by priority and then in equal shares, spread over the domains.
///
/// Ownership: process-wide; a child of fork() gets a new one. Arenas are linked here until they are deleted here.
/// Threads:   any. The allotment is recomputed by whoever finds the lock free; nobody waits for it on a spawn.
/// Protocols: docs/protocols/sleep.md [S*], arena.md [A*].
/// Source:    TBB-NUMA 4.1, 4.2.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/thread_state.hpp"
#include "sync/parker.hpp"
#include "sync/spin_lock.hpp"
#include "topology/machine.hpp"

namespace homing::runtime {

class arena;

/// How far a thief goes: HOMING_STEAL.
enum class steal_policy : std::uint8_t { near, random, domain };

/// A worker thread as the manager sees it. Never freed.
struct worker {
  unsigned index = 0;
  std::uint16_t domain = 0;
  resource_manager* manager = nullptr;
  sync::parker parker;
  arena* assigned = nullptr;  ///< written by the waker before unpark(); carries a reference and a search mark
  worker* next_idle = nullptr;
  bool idle = false;  ///< guarded by the domain's idle lock
  pthread_t thread{};
  sync::atomic<bool> gone{false};
};

class resource_manager {
 public:
  resource_manager();

  /// The process's manager, made at the first call.
  static resource_manager& current();
  static resource_manager* current_or_null() noexcept;
  /// In the child of a fork: a new one; the old one's threads do not exist here.
  static void replace_after_fork();

  [[nodiscard]] const topology::machine& machine() const noexcept { return machine_; }
  [[nodiscard]] unsigned domain_count() const noexcept { return domain_count_; }
  [[nodiscard]] steal_policy steal() const noexcept { return steal_; }
  [[nodiscard]] unsigned default_concurrency() const noexcept { return default_concurrency_; }

  /// The domain of the CPU that the calling thread is on.
  [[nodiscard]] std::uint16_t domain_of_this_thread() noexcept;
  [[nodiscard]] std::uint16_t l3_group_of_this_thread(std::uint16_t domain) noexcept;
  [[nodiscard]] bool has_l3_groups() const noexcept { return has_l3_groups_; }

  void link(arena& a);
  /// Deletes the arena if nobody refers to it and no work is left.
  enum class workers_called : bool { no, yes };
  void retire(arena& a, workers_called called = workers_called::no);

  /// An arena began or ceased to want workers, or a limit changed: allots anew, now or by whoever holds the lock.
  void demand_changed() noexcept;
  /// As demand_changed(), for an arena that has begun to want workers.
  void demand_rose(const arena& a) noexcept;

  /// Wakes or makes a worker for the arena, of `home` if that is short of workers. False if none can come.
  bool send_worker(arena& a, unsigned home) noexcept;

  /// Workers that sleep, or could be made; a hint for the hot path.
  [[nodiscard]] int available() const noexcept { return available_.load(sync::relaxed); }
  /// Workers that global_control allows.
  [[nodiscard]] unsigned allowed_workers() const noexcept { return allowed_workers_.load(sync::relaxed); }
  void set_allowed_workers(unsigned n) noexcept;

  /// Waits until every worker has ended; the caller has made sure that no arena is in use. For finalize().
  void stop_workers() noexcept;

  /// False if a task_arena object or another application thread refers to an arena; otherwise waits until the work
  /// that was left behind is done.
  bool wait_until_unused() noexcept;

  /// True if there is no arena and no worker.
  bool is_idle() noexcept;

  [[nodiscard]] unsigned workers_made() const noexcept { return made_.load(sync::relaxed); }

  std::mutex& lock_for_fork() noexcept { return lock_; }

  static constexpr unsigned worker_count_max = 4096;
  static constexpr unsigned level_count = 3;  ///< of priority

 private:
  struct alignas(sync::cache_line_bytes) domain_state {
    sync::spin_lock lock;  ///< guards idle list
    worker* first_idle = nullptr;
    sync::atomic<int> idle{0};
    std::vector<unsigned> not_made;  ///< worker indices dealt to this domain; guarded by lock_
    unsigned planned = 0;            ///< of the allowed workers, how many are dealt to this domain; guarded by lock_
  };

  static void* worker_entry(void* argument);
  void worker_main(worker& w);
  arena* next_assignment(worker& w);
  arena* find_work(worker& w) noexcept;
  bool share_lies_idle() noexcept;
  bool reserve(arena& a, unsigned domain) noexcept;
  void unreserve(arena& a, unsigned domain) noexcept;
  worker* pop_idle(unsigned domain) noexcept;
  bool make_worker(unsigned domain, arena& a) noexcept;
  void deal(unsigned count);
  void allot() noexcept;
  void call_for_waiting_arenas() noexcept;
  void allot_level(std::vector<arena*>& level, unsigned& left, std::vector<int>& left_by_domain) noexcept;
  void update_available() noexcept;

  const topology::machine& machine_;
  const unsigned domain_count_;
  const unsigned default_concurrency_;
  const steal_policy steal_;
  bool has_l3_groups_ = false;
  std::vector<std::uint16_t> domain_of_worker_;  ///< the deal, by worker index
  std::unique_ptr<domain_state[]> domains_;

  alignas(sync::cache_line_bytes) sync::atomic<int> available_{0};
  sync::atomic<int> idle_{0};
  sync::atomic<unsigned> allowed_workers_{0};
  sync::atomic<unsigned> made_{0};
  sync::atomic<bool> stopping_{false};
  sync::atomic<unsigned> crowded_level_{level_count};  ///< from this priority down, arenas outnumber the workers left

  alignas(sync::cache_line_bytes) sync::atomic<bool> dirty_{false};  ///< somebody asked for a new allotment
  sync::atomic<bool> allotting_{false};                               ///< somebody makes one
  std::mutex lock_;
  std::mutex stop_lock_;  ///< one stop_workers() at a time
  std::condition_variable arena_gone_;
  arena* first_arena_ = nullptr;
  std::vector<arena*> grown_;  ///< by the last allotment, each with a reference, until they are called for
  std::vector<worker*> workers_;
  unsigned rotation_ = 0;
};

}  // namespace homing::runtime
