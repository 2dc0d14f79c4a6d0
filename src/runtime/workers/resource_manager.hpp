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

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "platform/cpu_set.hpp"
#include "runtime/arena/worker_account.hpp"
#include "runtime/arena/worker_supplier.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/workers/allotment.hpp"
#include "runtime/workers/lease_book.hpp"
#include "sync/linked_list.hpp"
#include "sync/mutex.hpp"
#include "sync/parker.hpp"
#include "sync/spin_lock.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {

class arena;
class resource_manager;
struct thread_state;

/// A worker thread as the manager sees it, on the list of its domain while it idles. Freed by who has joined it: the
/// one that stops all workers, or the ender.
struct alignas(sync::cache_line_bytes) worker : sync::list_hook<worker> {
  unsigned index = 0;
  domain_index domain{};  ///< its own to read; changed by the waker of one that sleeps, before unpark() [A17]
  resource_manager* manager = nullptr;
  sync::parker parker;
  arena* assigned = nullptr;         ///< written by the waker before unpark(); carries a reference and a search mark
  sync::atomic<pid_t> thread_id{0};  ///< the system's; 0 until it runs
  bool stands_by = false;            ///< written as `assigned`: it has been called to stand in where that must be [A26]
  bool ends = false;                 ///< written as `assigned`: by the ender, which has taken it off the list [A28]
  std::size_t stack_bytes = 0;       ///< with which its thread is made
  platform::cpu_set starts_on;       ///< its domain's CPUs when its place was reserved, until it is made
  // Guarded by the manager's lock:
  worker* next_made = nullptr;
  domain_index bound_to{};   ///< whose CPUs it has
  platform::cpu_set seen;    ///< its mask when it was set or looked at last; empty: never, or its CPUs were offline
  bool binds_itself = true;  ///< it is on its way into bind_worker(), or in it: nobody else binds it
  pthread_t thread{};
};

class resource_manager final : public worker_supplier {
 public:
  resource_manager();

  /// The process's manager, made at the first call.
  static resource_manager& current();
  static resource_manager* current_or_null() noexcept;
  /// In the child of a fork: a new one; the old one's threads do not exist here.
  static void replace_after_fork();

  [[nodiscard]] const topology::machine& machine() const noexcept { return machine_; }
  [[nodiscard]] unsigned domain_count() const noexcept { return domain_count_; }

  /// The domain of a pinned external thread, which is to run in its mask: the least used one that the mask allows.
  [[nodiscard]] domain_index take_in_external_thread(const platform::cpu_set& mask) noexcept;
  void let_external_thread_go(domain_index domain) noexcept;

  // worker_supplier
  void link(arena& a) override;
  void retire(arena& a) override;
  void demand_changed() noexcept override;
  bool demand_rose(arena& a, domain_index home) noexcept override;
  void serve_newcomers() noexcept override;
  void end_mandatory_turn() noexcept override;
  bool list_newcomer(arena& a) noexcept override;
  bool send_worker(arena& a, domain_index home, unsigned domains, turned_away patience) noexcept override;
  bool make_worker(arena& a, domain_index home) noexcept override;
  void insist_on_worker(arena& a) noexcept override;
  bool park(sync::parker& p) noexcept override;

  /// Workers that global_control allows.
  [[nodiscard]] unsigned allowed_workers() const noexcept { return allowed_workers_.load(sync::relaxed); }
  enum class machine_is : bool { the_same, another };
  /// Obeys the limit that global_control sets now, whoever changed it. `machine`: whether domains may have other CPUs.
  void obey_limit(machine_is machine) noexcept;

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

  /// Waits until those have ended that idle now, unless somebody has come or left since users_.seen() was this: for the
  /// ender. [A28]
  void end_idle_workers(std::uint64_t seen) noexcept;

  /// False if a task_arena object or another application thread refers to an arena; otherwise waits until the work
  /// that was left behind is done.
  bool wait_until_unused() noexcept;

  /// True if there is no arena and no worker.
  bool is_idle() noexcept;

  // Around a fork, lifetime.cpp: the locks are held, so that the child's copy of what they guard is whole. There, no
  // worker is left, and none can be made.
  static void lock_creation_for_fork() noexcept;
  static void unlock_creation_after_fork() noexcept;
  void lock_for_fork() noexcept;
  void unlock_in_parent() noexcept;
  void unlock_in_child() noexcept;

  static constexpr unsigned worker_count_max = parallelism_max;
  static constexpr unsigned level_count = 3;  ///< of priority

 private:
  using arena_list = sync::linked_list<arena_place>;
  struct alignas(sync::cache_line_bytes) domain_state {
    sync::spin_lock lock;  ///< guards the next two; the count is read without it
    sync::linked_list<worker> idle_workers;
    sync::atomic<int> idle{0};
    // Guarded by lock_:
    usable_part usable{};
    unsigned external_threads = 0;  ///< that are pinned to it
    int makings = 0;                ///< threads that are being made for it [A25]
    // Written under lock_, and read without it by is_complete() and could_be_made(). [A25] relaxed, all: the fences are
    // there.
    sync::atomic<int> planned{0};   ///< of the workers that may be made, how many are dealt to this domain
    sync::atomic<int> made{0};      ///< workers that are here now
    sync::atomic<int> promised{0};  ///< by the last allotment to all arenas together

    /// How many it is to have.
    [[nodiscard]] int due() const noexcept {
      return std::max(planned.load(sync::relaxed), promised.load(sync::relaxed));
    }
    [[nodiscard]] bool has_all() const noexcept { return made.load(sync::relaxed) >= due(); }
  };

  [[nodiscard]] domain_range all_domains() const noexcept { return domain_range(domain_count_); }
  [[nodiscard]] domain_state& state_of(domain_index d) noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] const domain_state& state_of(domain_index d) const noexcept { return domains_[to_index(d)]; }

  static void* worker_entry(void* argument);
  void worker_main(worker& w);
  thread_state* register_worker(worker& w) noexcept;
  /// `awake`: how long it waits before it sleeps.
  arena* next_assignment(worker& w, std::chrono::nanoseconds awake) noexcept;
  arena* await_assignment(worker& w, std::chrono::nanoseconds awake, bool& stands_by) noexcept;
  [[nodiscard]] bool finds_nothing(worker& w, domain_index domain, arena*& chosen, bool& stands_by) noexcept;
  [[nodiscard]] static bool is_called_within(std::chrono::nanoseconds time, worker& w) noexcept;
  void announce_idle(worker& w) noexcept;
  /// False if a waker had taken it off the list.
  [[nodiscard]] bool take_back_idle(worker& w, domain_index domain) noexcept;
  [[nodiscard]] arena* choose_assignment(worker& w, arena* found, domain_index domain) noexcept;
  arena* find_work(domain_index domain, bool& stands_by, arena_list& to_call) noexcept;
  [[nodiscard]] bool take_share(arena& a, domain_index domain) noexcept;
  [[nodiscard]] static bool is_share_void(const arena& a) noexcept;
  bool reserve(arena& a, domain_index domain) noexcept;
  void unreserve(arena& a, domain_index domain) noexcept;
  void give_back(arena& a, domain_index domain) noexcept;
  void count_off_idle(domain_state& d) noexcept;
  worker* pop_idle(domain_index domain) noexcept;
  struct fetched {
    worker* who = nullptr;
    bool slept = false;     ///< until now, and not new
    bool lacking = false;   ///< the domain has fewer than it should: one that idles elsewhere would do
    bool unlocked = false;  ///< nobody, as far as could be seen without the lock
  };
  void wake(worker& w, bool slept) noexcept;
  void send(worker& w, arena& a, domain_index domain, bool slept) noexcept;
  enum class sent : unsigned char { one, none_has_place, none_there };
  [[nodiscard]] sent send_one_of_share(arena& a, domain_index home, unsigned domains, turned_away patience) noexcept;
  void ask_if_trimmed(arena& a) noexcept;
  [[nodiscard]] unsigned send_idle_one(arena& a, std::span<const domain_index> nearest) noexcept;
  // standing_in.cpp [A26]
  [[nodiscard]] std::optional<domain_index> unfilled_domain(arena& a, domain_index near) noexcept;
  void call_stand_in(domain_index near) noexcept;
  [[nodiscard]] fetched fetch_stand_in(domain_index near) noexcept;
  [[nodiscard]] bool begin_stand_by() noexcept;
  void end_stand_by() noexcept;
  void hand_on_stand_by(domain_index near) noexcept;
  [[nodiscard]] arena* stand_in_unless_called(worker& w, domain_index here) noexcept;
  // making.cpp; under the lock, but for those up to create_thread(), has_made_all() for a hint, wait_for_makings(),
  // watch_makings() and the last two. [A25]
  fetched fetch_worker(domain_index domain, turned_away patience) noexcept;
  [[nodiscard]] bool is_complete(domain_index domain) const noexcept;
  [[nodiscard]] bool could_be_made(domain_index domain, turned_away patience) const noexcept;
  [[nodiscard]] worker* make_in_one_of(std::span<const domain_index> domains) noexcept;
  [[nodiscard]] bool make_thread(worker& w) noexcept;
  [[nodiscard]] static int create_thread(worker& w, const platform::cpu_set& cpus) noexcept;
  [[nodiscard]] worker* reserve_making(domain_index domain) noexcept;
  [[nodiscard]] worker* take_spare() noexcept;
  void free_workers() noexcept;
  void note_first_making() noexcept;
  [[nodiscard]] bool has_made_all() const noexcept;
  [[nodiscard]] bool is_full_of_makings(domain_index domain) const noexcept;
  worker* bring_idle(domain_index to) noexcept;
  void wait_for_makings() noexcept;
  void watch_makings(std::uint32_t ended) noexcept;
  void note_refusal(int error) noexcept;
  void have_sleepers_look() noexcept;
  bool look_at_refusal() noexcept override;
  void end_refusal() noexcept;
  // ending.cpp [A28]
  void last_user_left() noexcept override;
  static void* ender_entry(void* manager);
  void end_unused_workers() noexcept;
  [[nodiscard]] worker* take_idle_workers(std::uint64_t seen) noexcept;
  void bind_worker(worker& w) noexcept;
  void follow_machine();
  [[nodiscard]] platform::cpu_set usable_now(const platform::cpu_set& first_thread);
  [[nodiscard]] std::vector<usable_part> parts_of(const platform::cpu_set& cpus) const;
  void rebind_workers();
  void deal() noexcept;
  void find_first_thread() noexcept;
  void publish_limit() noexcept;
  void allot_to_all() noexcept;
  template <typename Predicate>
  [[nodiscard]] bool any_wants(Predicate&& is_so) const noexcept;
  [[nodiscard]] bool leave_shares() noexcept;
  void see_all_pushes() noexcept;
  [[nodiscard]] static slot_id slot_of_this_thread(const arena& a) noexcept;
  [[nodiscard]] static bool may_have_pusher(const arena& a) noexcept;
  [[nodiscard]] bool may_have_pushers() const noexcept;
  [[nodiscard]] worker_supply supply() const;
  void forget(arena& a) noexcept;
  void tell_finalizers() noexcept;  // under lock_
  void add_finalizers(int more) noexcept;
  [[nodiscard]] bool see_arenas_go() noexcept;
  [[nodiscard]] bool nobody_comes_to(const arena& a) const noexcept;
  bool do_work_left_in(arena& a) noexcept;

  /// Holds lock_. [A6] Who asked for an allotment meanwhile did not wait: its wish is looked at after the unlock.
  class holder {
   public:
    explicit holder(resource_manager& manager) noexcept : manager_(manager) { manager.lock_.lock(); }
    ~holder() {
      if (holds_) {
        manager_.lock_.unlock();
      }
      if (!leaves_wishes_) {
        manager_.serve_who_asked();
      }
    }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

    /// Now, and not at the end.
    void unlock() noexcept {
      manager_.lock_.unlock();
      holds_ = false;
    }
    /// The caller takes the lock once more, before anything that may wait.
    void leave_wishes() noexcept { leaves_wishes_ = true; }

   private:
    resource_manager& manager_;
    bool holds_ = true;
    bool leaves_wishes_ = false;
  };
  void serve_who_asked() noexcept;

  // demand.cpp; under lock_, but for call_for(). Nothing here allocates: link() has made room. [A16]
  void take_newcomers() noexcept;
  void unlist(arena& a) noexcept;
  void allot() noexcept;
  [[nodiscard]] bool is_out_of_date() noexcept;
  /// What one way through the levels is told, and finds out.
  struct dealing {
    keep_young keep;
    bool kept_young = false;  ///< some arena has workers that it would not have otherwise
    bool has_losers = false;  ///< some arena wants workers and gets none
    unsigned crowded_level = level_count;
  };
  [[nodiscard]] dealing serve_levels(keep_young keep) noexcept;
  void serve_level(unsigned number, dealing& all) noexcept;
  void take_turns(unsigned number) noexcept;
  [[nodiscard]] arena_demand demand_of(arena& a, bool has_more, dealing& all) noexcept;
  void settle(const allotment::portion& p) noexcept;
  void void_share(arena& a) noexcept;
  void look_again_at_trimmed() noexcept;
  void call_later(arena& a) noexcept;
  [[nodiscard]] arena_list take_to_call() noexcept;
  [[nodiscard]] arena_list see_who_called() noexcept;
  [[nodiscard]] arena_list allot_and_take_to_call() noexcept;
  static void call_for(arena_list waiting) noexcept;
  void count_makeable() noexcept;

  const topology::machine& machine_;
  const unsigned domain_count_;
  std::unique_ptr<domain_state[]> domains_;
  sync::atomic<std::int64_t> looked_ns_{0};  ///< when somebody looked at the machine last
  platform::cpu_set usable_;                 ///< CPUs of a real machine; guarded by lock_
  platform::cpu_set first_thread_;           ///< its mask when it was looked at last; guarded by lock_
  bool rebind_ = false;                      ///< a worker's CPUs went while it was bound to them; guarded by lock_
  domain_index first_domain_{};              ///< in which the application's thread counts; guarded by lock_

  sync::atomic<unsigned> allowed_workers_{0};
  sync::atomic<unsigned> made_{0};
  sync::atomic<unsigned> makings_{0};             ///< threads that are being made now; written under lock_
  sync::atomic<std::uint32_t> makings_ended_{0};  ///< a count; who finds all places reserved sleeps on it [A25]
  sync::atomic<unsigned> makings_watched_{0};     ///< how many do
  sync::atomic<unsigned> names_given_{0};         ///< to threads, which may not have come to be
  sync::atomic<bool> stopping_{false};
  sync::atomic<bool> has_stand_by_{false};      ///< a worker looks before long whether an arena needs a stand-in [A26]
  sync::atomic<unsigned> refusals_{0};          ///< in a row; written under lock_
  sync::atomic<std::int64_t> ask_again_ns_{0};  ///< when to ask for a thread again; written under lock_
  sync::atomic<unsigned> refusal_looks_{0};     ///< of pushers: one in many reads the clock
  sync::atomic<unsigned> crowded_level_{level_count};  ///< from this priority down, one arena more would get no worker

  alignas(sync::cache_line_bytes) sync::atomic<bool> dirty_{false};
  sync::mutex lock_;
  lease_book leases_;
  std::mutex stop_lock_;                        ///< one at a time ends workers
  bool ends_some_ = false;                      ///< the ender waits for workers' ends; guarded by lock_ [A28]
  sync::atomic<std::uint32_t> arenas_gone_{0};  ///< a count; finalize() sleeps on it
  int finalizers_ = 0;                          ///< that may sleep on it; guarded by lock_
  sync::linked_list<worker_account> arenas_;
  sync::atomic<arena*> newcomers_{nullptr};  ///< listed since the last allotment; a stack
  arena_list wanting_[level_count];          ///< arenas that want workers, in the order of their turns
  bool had_losers_[level_count] = {};        ///< at the last allotment: arenas that wanted workers and got none
  std::int64_t turn_began_ns_ = 0;
  allotment allotment_;
  std::vector<domain_supply> supplies_;  ///< of the allotment that is going on
  std::uint64_t allotment_number_ = 0;   ///< of the last one
  std::size_t arena_count_ = 0;          ///< linked: these have room in the allotment, and in each of the following
  std::size_t room_for_arenas_ = 0;      ///< in the allotment
  std::vector<arena*> served_;           ///< by the last allotment, in the order of their priorities
  std::vector<arena*> served_before_;
  std::vector<arena*>
      newly_trimmed_;               ///< by the allotment that is going on: their shares are smaller, for want of work
  arena_list to_call_;              ///< each with a reference, until whoever leaves the lock calls for it
  worker* first_worker_ = nullptr;  ///< of all that were made
  /// Memory of workers: made by the block, so that hardly any thread has to begin with a heap of its own.
  struct worker_block;
  worker_block* worker_blocks_ = nullptr;
  worker* spare_workers_ = nullptr;
};

}  // namespace homing::scheduler
