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

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "platform/cpu_set.hpp"
#include "runtime/lease_book.hpp"
#include "runtime/steal_policy.hpp"
#include "runtime/thread_state.hpp"
#include "sync/mutex.hpp"
#include "sync/parker.hpp"
#include "sync/spin_lock.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {

class arena;

/// When thieves leave an affinitized task to its mailbox: HOMING_MAILBOX_IDLE. By figure 9, or as upstream does also
/// while nobody is there to take it.
enum class idle_rule : std::uint8_t { homing, tbb };

/// A worker thread as the manager sees it. Freed by stop_workers() alone.
struct worker {
  unsigned index = 0;
  std::uint16_t domain = 0;  ///< its own to read; changed by the waker of one that sleeps, before unpark() [A17]
  resource_manager* manager = nullptr;
  sync::parker parker;
  arena* assigned = nullptr;  ///< written by the waker before unpark(); carries a reference and a search mark
  worker* next_idle = nullptr;
  bool idle = false;                 ///< guarded by the domain's idle lock
  sync::atomic<pid_t> thread_id{0};  ///< the system's; 0 until it runs
  // Guarded by the manager's lock:
  worker* next_made = nullptr;
  unsigned bound_to = 0;   ///< the domain whose CPUs it has
  platform::cpu_set seen;  ///< its mask when it was set or looked at last; empty: never
  pthread_t thread{};
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
  [[nodiscard]] idle_rule mailbox_idle() const noexcept { return mailbox_idle_; }
  /// HOMING_PIN_MASTERS.
  [[nodiscard]] bool pins_masters() const noexcept { return pins_masters_; }
  /// One thread a CPU that can be had now. [A19]
  [[nodiscard]] unsigned default_concurrency() const noexcept { return default_concurrency_.load(sync::relaxed); }
  /// How long a thread looks for work before it sleeps.
  [[nodiscard]] std::chrono::nanoseconds search_budget() const noexcept { return search_budget_; }

  /// The domain of a pinned master, which is to run in its mask: the least used one that the mask allows.
  [[nodiscard]] std::uint16_t take_in_master(const platform::cpu_set& mask) noexcept;
  void let_master_go(std::uint16_t domain) noexcept;

  /// The domain of the CPU that the calling thread is on.
  [[nodiscard]] std::uint16_t domain_of_this_thread() noexcept;
  [[nodiscard]] std::uint16_t l3_group_of_this_thread(std::uint16_t domain) noexcept;
  [[nodiscard]] bool has_l3_groups() const noexcept { return has_l3_groups_; }

  void link(arena& a);
  /// Deletes the arena, to which nobody refers any more; if work is left, keeps it for a worker and calls one.
  void retire(arena& a);

  /// An arena began or ceased to want workers, or a limit changed: allots anew, now or by whoever holds the lock.
  void demand_changed() noexcept;
  /// As demand_changed(), for an arena that has begun to want workers. True if one of `home` has been called: the arena
  /// had a share that nobody has claimed meanwhile. [A14]
  bool demand_rose(arena& a, unsigned home) noexcept;
  /// Lists the arena, if it wants workers, for the next allotment. True if it was listed.
  bool announce(arena& a) noexcept;

  /// Wakes or makes a worker for the arena, of `home` if that is short of workers, else of one of the next domains, so
  /// many in all. False if none can come.
  bool send_worker(arena& a, unsigned home, unsigned domains) noexcept;

  /// Workers that sleep, or could be made; a hint for the hot path.
  [[nodiscard]] int available() const noexcept {
    return idle_.load(sync::relaxed) + (is_refused() ? 0 : could_make_.load(sync::relaxed));
  }
  /// [A15] The system has refused to make a thread, and is not to be asked again yet.
  [[nodiscard]] bool is_refused() const noexcept { return refused_.load(sync::relaxed); }
  /// [A15] For pushers: ends the refusal when its time is over, which is looked at now and then. True if it has ended.
  [[nodiscard]] bool refusal_has_ended() noexcept { return is_refused() && look_at_refusal(); }
  /// [A15] For what was enqueued and has nobody: asks for a worker some times more.
  void insist_on_worker(arena& a) noexcept;
  /// Parks a thread that waits, or a worker; while no worker can be made it asks again from time to time. False if it
  /// came back for that alone. [A15]
  bool park(sync::parker& p) noexcept;
  /// True if some arena could use more workers than it was given; a hint.
  [[nodiscard]] bool unmet() const noexcept { return unmet_.load(sync::relaxed); }
  /// Workers that global_control allows.
  [[nodiscard]] unsigned allowed_workers() const noexcept { return allowed_workers_.load(sync::relaxed); }
  /// Of these, those that arenas may have: the others are leased. With none, enqueued tasks still get one.
  [[nodiscard]] unsigned allottable_workers() const noexcept { return allottable_workers_.load(sync::relaxed); }
  /// Obeys the limit that global_control sets now, whoever changed it.
  void obey_limit() noexcept;

  // Leases, leasing.cpp: by number; a number of before a fork means nothing here. None waits for a worker. [A13]
  /// The new lease's number and workers. Errors: std::bad_alloc.
  [[nodiscard]] std::pair<std::uint64_t, domain_counts> take_lease(const lease_wish& wish, const lessee& who);
  /// Deals anew: its workers. Errors: std::bad_alloc.
  [[nodiscard]] std::optional<domain_counts> renew_lease(std::uint64_t number, const lessee& who);
  void end_lease(std::uint64_t number) noexcept;
  /// True while some arena has more workers of some domain than it is allotted.
  [[nodiscard]] std::optional<bool> is_crowded(std::uint64_t number) noexcept;

  // The machine while it runs, machine_watch.cpp. [A19]
  /// Follows what has changed of the process's mask, cpuset and quota, unless somebody looked so short a time ago.
  void look_at_machine(std::int64_t not_within_ns) noexcept;
  static constexpr std::int64_t look_of_workers_ns = 250'000'000;  ///< between two, by workers, who have the time
  static constexpr std::int64_t look_of_others_ns = 500'000'000;
  /// What can be used of a domain now; without CPUs it has gone.
  struct usable_part {
    unsigned cpus = 0;
    platform::cpu_set binding{};
  };
  /// From now on: one part a domain, of which some has CPUs, and so many threads by default.
  void machine_is_now(std::vector<usable_part> parts, unsigned concurrency) noexcept;

  /// Waits until every worker has ended; the caller has made sure that no arena is in use. For finalize().
  void stop_workers() noexcept;

  /// False if a task_arena object or another application thread refers to an arena; otherwise waits until the work
  /// that was left behind is done.
  bool wait_until_unused() noexcept;

  /// True if there is no arena and no worker.
  bool is_idle() noexcept;

  [[nodiscard]] unsigned workers_made() const noexcept { return made_.load(sync::relaxed); }

  // Around a fork, lifetime.cpp: the locks are held, so that the child's copy of what they guard is whole. There, no
  // worker is left, and none can be made.
  static void lock_creation_for_fork() noexcept;
  static void unlock_creation_after_fork() noexcept;
  void lock_for_fork() noexcept;
  void unlock_in_parent() noexcept;
  void unlock_in_child() noexcept;

  static constexpr unsigned worker_count_max = 4096;
  static constexpr unsigned level_count = 3;  ///< of priority

 private:
  struct alignas(sync::cache_line_bytes) domain_state {
    sync::spin_lock lock;  ///< guards idle list
    worker* first_idle = nullptr;
    sync::atomic<int> idle{0};
    // Guarded by lock_:
    usable_part usable{};
    unsigned masters = 0;  ///< that are pinned to it
    int planned = 0;       ///< of the workers that may be made, how many are dealt to this domain
    int made = 0;          ///< workers that are here now
    int promised = 0;      ///< by the last allotment to all arenas together
    int left = 0;          ///< while an allotment goes on: not given yet
    int dealt = 0;         ///< what `left` began with; below 0 if the limit fell under the leases
    int spare = 0;         ///< so many more may come from elsewhere: `left` may fall so far below 0
  };

  static void* worker_entry(void* argument);
  void worker_main(worker& w);
  thread_state* register_worker(worker& w) noexcept;
  arena* next_assignment(worker& w);
  arena* find_work(unsigned domain) noexcept;
  bool reserve(arena& a, unsigned domain) noexcept;
  void unreserve(arena& a, unsigned domain) noexcept;
  void give_back(arena& a, unsigned domain) noexcept;
  worker* pop_idle(unsigned domain) noexcept;
  struct fetched {
    worker* who = nullptr;
    bool slept = false;    ///< until now, and not new
    bool lacking = false;  ///< the domain has fewer than it should: one that idles elsewhere would do
  };
  fetched fetch_worker(unsigned domain) noexcept;
  worker* make_worker(unsigned domain) noexcept;
  worker* bring_idle(unsigned to) noexcept;
  void note_refusal(int error) noexcept;
  [[gnu::noinline]] bool look_at_refusal() noexcept;
  void call_for_all() noexcept;
  void bind_worker(worker& w) noexcept;
  void follow_machine();
  [[nodiscard]] platform::cpu_set usable_now(const platform::cpu_set& first_thread);
  [[nodiscard]] std::vector<usable_part> parts_of(const platform::cpu_set& cpus) const;
  void deal() noexcept;
  [[nodiscard]] unsigned present_domain() noexcept;
  void allot_to_all() noexcept;
  [[nodiscard]] worker_supply supply() const;
  void forget(arena& a) noexcept;
  bool do_work_left_in(arena& a) noexcept;

  /// Holds lock_. [A6] Who asked for an allotment meanwhile did not wait: its wish is looked at after the unlock.
  class holder {
   public:
    explicit holder(resource_manager& manager) noexcept : manager_(manager) { manager.lock_.lock(); }
    ~holder() { manager_.unlock(); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

   private:
    resource_manager& manager_;
  };
  void unlock() noexcept;

  // allotment.cpp; under lock_, but for call_for(). Nothing here allocates: link() has made room. [A16]
  struct pool_of_workers {
    unsigned left = 0;  ///< of all domains; each has its own count
    bool only_mandatory = false;
    bool unmet = false;  ///< some arena could use more
  };
  struct portion {  ///< its workers by domain are the arena's: arena_domain::share
    arena* of = nullptr;
    unsigned wanted = 0;
    unsigned given = 0;
    bool cut = false;        ///< wanted less than it may have
    bool homeless = false;   ///< none of its domains has a worker, under the present limit
    bool mandatory = false;  ///< for mandatory concurrency only
  };
  enum class crowd : bool { no, yes };
  void take_newcomers() noexcept;
  void unlist(arena& a) noexcept;
  void allot() noexcept;
  [[nodiscard]] bool is_out_of_date() noexcept;
  crowd serve_level(std::list<arena*>& level, pool_of_workers& pool) noexcept;
  [[nodiscard]] int spare_places(unsigned domain) const noexcept;
  void hand_out(portion& p, unsigned domain, pool_of_workers& pool) noexcept;
  void keep_workers(portion& p, pool_of_workers& pool) noexcept;
  void give(portion& p, std::uint64_t count, pool_of_workers& pool) noexcept;
  void share_out(std::vector<portion>& portions, pool_of_workers& pool) noexcept;
  void even_out(std::vector<portion>& portions) const noexcept;
  void settle(const portion& p) noexcept;
  void look_again_at_cut() noexcept;
  void call_later(arena& a) noexcept;
  [[nodiscard]] arena* take_to_call() noexcept;
  void call_for(arena* first) noexcept;
  void count_makeable() noexcept;

  const topology::machine& machine_;
  const unsigned domain_count_;
  sync::atomic<unsigned> default_concurrency_;
  const std::chrono::nanoseconds search_budget_;
  const steal_policy steal_;
  const idle_rule mailbox_idle_;
  const bool pins_masters_;
  bool has_l3_groups_ = false;
  std::unique_ptr<domain_state[]> domains_;
  sync::atomic<std::int64_t> looked_ns_{0};  ///< when somebody looked at the machine last
  platform::cpu_set usable_;                 ///< CPUs of a real machine; guarded by lock_
  platform::cpu_set first_thread_;           ///< its mask when it was looked at last; guarded by lock_
  bool rebind_ = false;                      ///< a worker's CPUs went while it was bound to them; guarded by lock_
  unsigned first_domain_ = 0;                ///< in which the application's first thread counts; guarded by lock_

  alignas(sync::cache_line_bytes) sync::atomic<int> idle_{0};  ///< workers that sleep here
  sync::atomic<int> could_make_{0};                            ///< workers that may be made yet; written under lock_
  sync::atomic<unsigned> allowed_workers_{0};
  sync::atomic<unsigned> allottable_workers_{0};  ///< allowed and not leased; written under lock_
  sync::atomic<unsigned> made_{0};
  sync::atomic<bool> stopping_{false};
  sync::atomic<bool> refused_{false};                  ///< no thread could be made [A15]
  sync::atomic<unsigned> refusals_{0};                 ///< in a row; written under lock_
  sync::atomic<std::int64_t> ask_again_ns_{0};         ///< when to ask for a thread again; written under lock_
  sync::atomic<unsigned> refusal_looks_{0};            ///< of pushers: one in many reads the clock
  sync::atomic<unsigned> crowded_level_{level_count};  ///< from this priority down, one arena more would get no worker
  sync::atomic<bool> unmet_{false};  ///< some arena could use more workers than the last allotment gave it

  alignas(sync::cache_line_bytes) sync::atomic<bool> dirty_{false};
  sync::mutex lock_;
  lease_book leases_;
  std::mutex stop_lock_;                        ///< one stop_workers() at a time
  sync::atomic<std::uint32_t> arenas_gone_{0};  ///< a count; finalize() sleeps on it
  arena* first_arena_ = nullptr;
  sync::atomic<arena*> newcomers_{nullptr};  ///< announced since the last allotment; a stack
  std::list<arena*> wanting_[level_count];   ///< arenas that want workers, in the order of their turns
  std::chrono::steady_clock::time_point turn_began_;
  std::uint64_t allotment_ = 0;  ///< number of the last one
  std::size_t arena_count_ = 0;  ///< linked: these have room in each of the following
  std::vector<arena*> served_;   ///< by the last allotment, in the order of their priorities
  std::vector<arena*> served_before_;
  std::vector<arena*> newly_cut_;   ///< by the allotment that is going on: their shares are smaller, for want of work
  std::vector<portion> portions_;   ///< of the allotment that is going on
  arena* first_to_call_ = nullptr;  ///< each with a reference, until whoever leaves the lock calls for it
  arena* last_to_call_ = nullptr;
  worker* first_worker_ = nullptr;  ///< of all that were made
};

}  // namespace homing::scheduler
