/// One computation's place: its slots, mailboxes, shared queues, and who works in it (the paper's task scheduler).
///
/// Ownership: reference-counted. External references: task_arena objects, application threads whose implicit arena it
///            is; one more for each worker inside or on its way. The resource manager unlinks and deletes it when none
///            is left and no work either.
/// Threads:   everything public from any thread that holds a reference, unless a comment says otherwise.
/// Protocols: docs/protocols/arena.md [A*], sleep.md [S*], mailbox.md [M*].
/// Source:    TBB-NUMA 4.3, 4.4: P mailboxes and P + 1 shared queues an arena.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/dispatcher.hpp"
#include "runtime/observer_list.hpp"
#include "runtime/resume_queue.hpp"
#include "runtime/search_scope.hpp"
#include "runtime/steal_policy.hpp"
#include "runtime/task_access.hpp"
#include "runtime/task_proxy.hpp"
#include "runtime/thread_state.hpp"
#include "sync/mailbox.hpp"
#include "sync/work_deque.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {

class resource_manager;

struct alignas(sync::cache_line_bytes) arena_slot {
  sync::work_deque tasks;
  // Searchers of the same domain read these in every round; hardly anybody writes them.
  alignas(sync::cache_line_bytes) sync::atomic<bool> occupied{false};
  sync::atomic<std::uint16_t> domain{0};       ///< of the thread in it
  sync::atomic<std::uint16_t> l3_group{0};     ///< of the thread in it
  std::uint16_t home = 0;                      ///< the domain that mail to this slot belongs to; fixed
  sync::atomic<sync::mailbox*> mail{nullptr};  ///< made at the first post
  dispatcher* base = nullptr;                  ///< with which the thread in it entered; owner only
  sync::atomic<bool> absent{false};            ///< its thread rests where it can't take what lies here [S15]
  // Its thread writes these at the begin of every search.
  alignas(sync::cache_line_bytes) sync::atomic<bool> hungry{false};  ///< its thread looks for work
  sync::atomic<std::int64_t> hungry_since_ns{0};                     ///< when that began last; a hint for its robbers
};

struct alignas(sync::cache_line_bytes) arena_domain {
  sync::atomic<int> searchers{0};  ///< threads of this domain that look for work, as [S14]: the counter of figure 9
  sync::atomic<int> active{0};     ///< workers of this domain in the arena or on their way
  sync::atomic<int> allotted{0};   ///< workers of this domain that the arena should have
  sync::atomic<int> absent{0};     ///< of its workers, those that rest where they can't serve it [S15]
  sync::atomic<sync::mailbox*> mail{nullptr};
  slot_id first_slot = 0;  ///< slots whose home this is: [first_slot, last_slot)
  slot_id last_slot = 0;
  task_queue detached;  ///< whoever waits for them may take them
  task_queue enqueued;  ///< for outermost loops only
};

struct arena_request {
  int max_concurrency = -1;     ///< threads, masters included; -1: as many as the constraints allow
  unsigned reserved_slots = 1;  ///< of these, for application threads only
  unsigned priority_level = 1;  ///< 0 high, 1 normal, 2 low
  topology::constraints_query constraints;
  bool fast_leave = false;
  int only_domain = -1;               ///< workers of no other domain [A12]; -1: as the constraints say
  std::optional<steal_policy> steal;  ///< none: as HOMING_STEAL says
};

struct suspend_point;

/// A thread asleep in a wait inside the arena; lives on that thread's stack. Or a stack that was left in a wait, which
/// any thread may go on with. Guarded by the arena's sleepers lock.
struct sleeper {
  thread_state* thread = nullptr;
  search_scope scope{};
  suspend_point* point = nullptr;  ///< of a stack; there is no thread then
  bool listed = false;
  sleeper* next = nullptr;
  sleeper* previous = nullptr;
};

class arena {
 public:
  arena(resource_manager& manager, const arena_request& request);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  [[nodiscard]] unsigned slot_count() const noexcept { return slot_count_; }
  [[nodiscard]] unsigned reserved_slots() const noexcept { return reserved_slots_; }
  [[nodiscard]] unsigned max_concurrency() const noexcept { return max_concurrency_; }
  /// As users see it: one more while mandatory concurrency lends a worker to an arena that has none of its own.
  [[nodiscard]] unsigned concurrency_now() const noexcept {
    return max_concurrency_ + (max_workers_ == 0 && mandatory_.load(sync::relaxed) ? 1U : 0U);
  }
  [[nodiscard]] unsigned max_workers() const noexcept { return max_workers_; }
  [[nodiscard]] unsigned domain_count() const noexcept { return domain_count_; }
  [[nodiscard]] unsigned priority_level() const noexcept { return request_.priority_level; }
  [[nodiscard]] const arena_request& request() const noexcept { return request_; }
  [[nodiscard]] resource_manager& manager() const noexcept { return manager_; }
  [[nodiscard]] steal_policy steal() const noexcept { return steal_; }
  /// A pinned section's: workers of other domains come for what must be run only, and only if its own domain has none.
  [[nodiscard]] bool is_of_one_domain() const noexcept { return request_.only_domain >= 0; }
  [[nodiscard]] arena_slot& slot(unsigned i) noexcept { return slots_[i]; }
  [[nodiscard]] arena_domain& domain(unsigned i) noexcept { return domains_[i]; }
  [[nodiscard]] task_group_context& default_context() noexcept { return *default_context_; }

  /// A free slot for the thread, or no_slot. One that comes as a worker gets no reserved slot, and one of its domain if
  /// it can; one that comes by execute(), a worker of another arena perhaps, gets the first that is free.
  [[nodiscard]] slot_id occupy_slot(thread_state& t, thread_kind comes_as) noexcept;
  void release_slot(slot_id number) noexcept;

  /// The domain that a slot number of a task's affinity means.
  [[nodiscard]] std::uint16_t home_of(slot_id affinity) const noexcept {
    return affinity >= first_domain_slot ? static_cast<std::uint16_t>(affinity - first_domain_slot)
                                         : slots_[affinity].home;
  }
  [[nodiscard]] bool is_address(slot_id affinity) const noexcept {
    return affinity < slot_count_ ||
           (affinity >= first_domain_slot && static_cast<unsigned>(affinity - first_domain_slot) < domain_count_);
  }

  /// Puts an item for `affinity` in its mailbox; false if there is no room or nobody could come for it.
  [[nodiscard]] bool post(slot_id affinity, std::uintptr_t item, std::uint64_t tag);

  /// After a push to the deque of the slot: calls a thread if none looks for work and one could come. The hot side of
  /// sleep.md [S2].
  void new_work(isolation_tag isolation, unsigned home, const arena_slot& where) noexcept {
    pushers_fence();
    if (__builtin_expect(stays_, false)) {
      new_work_that_stays({work_kind::spawned, isolation, 0}, where);
    } else if (searchers_.load(sync::relaxed) == 0 && somebody_could_come()) {
      call_somebody({work_kind::spawned, isolation, home}, reach::all);
    }
  }
  /// As new_work(), of whatever the slot's deque has.
  void uncovered_work(const arena_slot& where) noexcept;
  /// After a post, or a push to a domain's queue: as new_work(), but a thread that looks for work must be of that
  /// domain.
  void new_mail(work_kind kind, isolation_tag isolation, unsigned home) noexcept {
    pushers_fence();
    arena_domain& d = domains_[home];
    if (d.searchers.load(sync::relaxed) == 0 && somebody_could_come()) {
      call_somebody({kind, isolation, home}, is_left_to(home) ? reach::home : reach::all);
    }
  }

  /// True if a task or a stack is there that a thread with this scope could take: one of that domain, or some thread.
  [[nodiscard]] bool has_work(const search_scope& scope, unsigned by_domain) noexcept;
  /// The same without stacks that may go on.
  [[nodiscard]] bool has_task(const search_scope& scope, unsigned by_domain) noexcept;
  /// As has_work(), for a thread that may take everything.
  [[nodiscard]] bool has_work(isolation_tag isolation, unsigned by_domain) noexcept {
    return has_work(search_scope{.isolation = isolation}, by_domain);
  }
  static constexpr unsigned anybody = ~0U;

  /// Bookkeeping of counted threads that look for work. The time, by platform::monotonic_ns().
  std::int64_t begin_search(thread_state& t, const search_scope& scope) noexcept;
  void end_search_empty(thread_state& t, const search_scope& scope) noexcept;
  void end_search_found(thread_state& t, const search_scope& scope) noexcept;

  /// Looks of searchers that stop: so soon after one another that pushers had better pay, and so rare that they need
  /// not. [S9]
  struct look_pace {
    std::int64_t soon_ns = 250'000;
    std::int64_t rare_ns = 1'000'000;
  };
  /// For tests of one side alone; before anybody is in the arena.
  void set_look_pace(look_pace p) noexcept { look_pace_ = p; }

  /// How many look for work now; a hint.
  [[nodiscard]] int searchers() const noexcept { return all_searchers(searchers_.load(sync::relaxed)); }

  /// A worker has come with the mark that its waker made for it.
  void adopt_search_mark(thread_state& t) noexcept { t.slot->hungry.store(true, sync::relaxed); }
  /// A worker has come: who was kept for it need not be kept any longer. [A5]
  void drop_kept_reference() noexcept {
    if (kept_.load(sync::relaxed) && kept_.exchange(false, sync::relaxed)) {
      drop_reference();  // not the last: the worker has its own
    }
  }
  /// False if all slots that a worker may take are taken; then whoever frees one looks for work left.
  [[nodiscard]] bool worker_could_enter() noexcept;
  void worker_found_no_slot(thread_state& t) noexcept;
  /// When it has stopped looking for work: the last one out says that no workers are wanted, unless there is work.
  void worker_leaves(unsigned domain) noexcept;

  /// Calls a thread, whether or not there is work to be seen, in place of one of that domain that was counted as
  /// searching.
  void call_instead(unsigned domain) noexcept;
  /// Calls a thread where there is work that nobody may have been called for; `home` is a hint.
  void call_for_work_left(unsigned home) noexcept;
  /// The same, never asking for a new allotment, so that whoever allots can call it.
  void call_allotted_for_work_left(unsigned home) noexcept;

  /// [S10] Whether thieves of other domains leave a task to that one, its home, however idle they are: if its workers
  /// are due.
  [[nodiscard]] bool is_left_to(unsigned home) const noexcept {
    const arena_domain& d = domains_[home];
    return stays_ && d.allotted.load(sync::relaxed) > d.absent.load(sync::relaxed);
  }
  /// [S10] Whether thieves of that domain may rob the slot: all do where they may go everywhere; else those of its
  /// thread's domain, and if it has none, or one that can't take anything there, all.
  [[nodiscard]] bool may_rob(unsigned domain, const arena_slot& slot) const noexcept {
    return !stays_ || slot.domain.load(sync::relaxed) == domain || !slot.occupied.load(sync::relaxed) ||
           slot.absent.load(sync::relaxed);
  }
  /// [S10] Whether a domain's queues are for other domains' threads, too, where thieves stay: it has no worker for
  /// them.
  [[nodiscard]] bool is_unserved(const arena_domain& d) const noexcept {
    const int absent = d.absent.load(sync::relaxed);
    return d.allotted.load(sync::relaxed) <= absent && d.active.load(sync::relaxed) <= absent;
  }
  /// Whether thieves leave tasks to others, however idle they are: those of S10, and of oneTBB's rule for mailboxes.
  [[nodiscard]] bool thieves_leave_tasks() const noexcept;

  /// [S15] The thread in the slot is about to rest where it can't take what lies there. True unless it was so before;
  /// then a heavy fence and a call for work left must follow.
  [[nodiscard]] bool become_absent(arena_slot& s, thread_kind entered_as) noexcept;
  void end_absence(arena_slot& s, thread_kind entered_as) noexcept;

  void sleep_begin(sleeper& s) noexcept;
  /// Takes the sleeper off the list; true if a waker had done so (and counted it as searching).
  bool sleep_end(sleeper& s) noexcept;

  /// Lists an application thread that needs a slot (again, if it was taken off the list to try).
  void wait_for_slot(sleeper& s) noexcept;
  /// Takes it off; if it had been called for a free slot, the next one is called: it may have no use for it.
  void stop_waiting_for_slot(sleeper& s) noexcept;

  /// Workers that are in the arena or on their way.
  [[nodiscard]] bool has_workers() const noexcept { return workers_.load(sync::acquire) != 0; }

  /// Workers: asked to go because there are more than allotted.
  [[nodiscard]] bool worker_should_leave(const thread_state& t) const noexcept;

  void add_reference() noexcept { references_.fetch_add(1, sync::relaxed); }
  /// One more, for who has found the arena through the manager; false if it is about to be retired.
  [[nodiscard]] bool try_reference() noexcept;
  /// The last reference deletes the arena unless work is left; then the workers that come for it do.
  void drop_reference() noexcept;

  /// A task_arena object or an application thread that refers to the arena; the constructor's reference is the first's.
  void add_user() noexcept { users_.fetch_add(1, sync::relaxed); }
  void drop_user() noexcept {
    users_.fetch_sub(1, sync::relaxed);
    drop_reference();
  }

  /// For any thread to take; enqueue() makes sure that some worker comes even where none is allowed.
  /// For any thread of the domain first; a thread that waits for it may take it wherever it is.
  void detach(task& t, unsigned home);
  /// For any thread in an outermost loop; of that domain first.
  void submit(task& t, unsigned home_or_none);
  /// The same, and some worker comes even where none is allowed.
  void enqueue(task& t, unsigned home_or_none);
  /// An enqueued task whose maker waits at the door: before all others.
  void delegate(task& t);
  void submit_critical(task& t);
  void submit_resume(suspend_point& stack) noexcept;
  /// What the calling thread's deque has no room for.
  [[gnu::noinline]] void overflow(task& t);

  // Around a fork, lifetime.cpp: all locks are held. In the child, nobody but `forker` is left in it, and no stack but
  // those that are suspended.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void forget_all_but(const thread_state& forker) noexcept;

  // Queues, in the order of figure 7; home queues are in domain().
  static constexpr unsigned no_home = ~0U;
  task_queue delegated;
  task_queue unaddressed;
  task_queue critical;
  task_queue overflowed;  ///< spawned where the deque was full and there was no memory for a larger one
  resume_queue resumed;
  observer_list observers;

  /// A parallel phase: workers come at its begin and stay longer. `leave_fast`: at its end they go at once, until
  /// workers are wanted anew.
  void begin_phase() noexcept;
  void end_phase(bool leave_fast) noexcept;
  [[nodiscard]] bool in_phase() const noexcept { return phases_.load(sync::relaxed) > 0; }
  [[nodiscard]] bool leaves_fast() const noexcept {
    return request_.fast_leave || leaves_fast_once_.load(sync::relaxed);
  }

 private:
  friend class resource_manager;

  /// The pusher's side of S2 and S3: next to nothing, unless searchers stop so often that their side costs more.
  void pushers_fence() noexcept {
    sync::light_fence();
    // acquire: a pusher that finds it light has seen no searcher go that relies on full fences. [S9]
    if (__builtin_expect(fence_duty_.load(sync::acquire) != fence_duty::searchers, false)) {
      sync::full_fence();
    }
  }
  void see_all_pushes() noexcept;

  [[nodiscard]] bool has_enqueued() const noexcept;
  [[nodiscard]] bool somebody_could_come() const noexcept;
  [[nodiscard]] int workers_wanted() const noexcept;
  [[nodiscard]] bool wants_workers() const noexcept {
    return busy_.load(sync::seq_cst) && (max_workers_ != 0 || mandatory_.load(sync::relaxed));
  }
  /// Says that no workers are wanted, unless work shows behind a fence; true if so.
  bool stand_down() noexcept;
  /// After the push of what must be run even where no worker is allowed.
  void want_mandatory_worker() noexcept;
  void want_mandatory_worker_if_deserted() noexcept;
  void call_workers_for_phase() noexcept;
  [[nodiscard]] bool has_free_worker_slot() const noexcept;
  /// Threads of which domains are of use: of the home of the work first, or of no other.
  enum class reach : bool { home, all };
  [[gnu::noinline]] void call_somebody(const work_call& call, reach who) noexcept;
  /// The part of it that never asks for a new allotment, so that whoever allots can call it.
  void call_allotted(const work_call& call, reach who) noexcept;
  [[gnu::noinline]] void new_work_that_stays(work_call call, const arena_slot& where) noexcept;
  void new_common_work(const work_call& call) noexcept;
  void new_enqueued_work(unsigned home_or_none) noexcept;
  [[nodiscard]] bool has_common_task(const search_scope& scope) noexcept;
  [[nodiscard]] bool has_enqueued_for(unsigned by_domain) const noexcept;
  [[nodiscard]] bool has_queued_in(unsigned domain, const search_scope& scope, unsigned by_domain) const noexcept;
  [[nodiscard]] bool has_mail(unsigned domain, const search_scope& scope) const noexcept;
  [[nodiscard]] bool has_slot_work(isolation_tag isolation, const arena_slot& slot, unsigned by_domain) noexcept;
  /// Calls where the work is that is left: once for each domain that has some, if its threads may not leave it.
  template <typename Call>
  void for_work_left(unsigned home, Call&& call) noexcept;
  void call_slot_waiter() noexcept;
  [[nodiscard]] bool try_occupy(unsigned i) noexcept;
  [[nodiscard]] bool suits(const sleeper& s, const work_call& call, reach who) noexcept;
  [[nodiscard]] bool wake_sleeper(const work_call& call, reach who) noexcept;
  [[nodiscard]] bool is_deserted() const noexcept;

  resource_manager& manager_;
  const arena_request request_;
  const steal_policy steal_;
  const bool stays_;  ///< its thieves never leave their domain
  unsigned max_concurrency_ = 0;
  unsigned reserved_slots_ = 0;
  unsigned max_workers_ = 0;
  unsigned slot_count_ = 0;
  unsigned domain_count_ = 0;
  std::unique_ptr<arena_slot[]> slots_;
  std::unique_ptr<arena_domain[]> domains_;
  std::vector<unsigned> allowed_by_domain_;  ///< CPUs that satisfy the constraints, per domain
  std::vector<int> present_;  ///< workers by domain as an allotment begins; guarded by the manager's lock, as the next
  std::vector<int> share_;    ///< what it gives
  std::unique_ptr<task_group_context> default_context_;

  alignas(sync::cache_line_bytes) sync::atomic<int> searchers_{0};  ///< as [S14]
  sync::atomic<int> workers_{0};                                    ///< in the arena or on their way
  sync::atomic<int> allotted_{0};                                   ///< by the resource manager
  sync::atomic<int> sleepers_{0};
  sync::atomic<bool> busy_{false};             ///< wants workers
  sync::atomic<bool> mandatory_share_{false};  ///< allotted_ is for the time while mandatory_ only
  sync::atomic<bool> mandatory_{false};        ///< has enqueued tasks: must get one worker even where none is allowed

  /// Who pays for the race between a push and a searcher that stops. [S9]
  enum class fence_duty : std::uint8_t { searchers, changing, pushers };
  sync::atomic<fence_duty> fence_duty_{fence_duty::searchers};
  look_pace look_pace_;

  sync::atomic<bool> listed_{false};  ///< on a list of the manager's, or announced for it

  sync::atomic<unsigned> called_for_{0};  ///< the domain of the newest call: a hint for those who call on its behalf
  sync::atomic<bool> unheard_{false};     ///< a worker was wanted while no slot was free
  sync::atomic<int> phases_{0};
  sync::atomic<bool> leaves_fast_once_{false};
  sync::atomic<bool> trimmed_{false};  ///< its share is what it had use for, not what it might get
  static constexpr unsigned starved_calls_per_look = 256;
  sync::atomic<unsigned> starved_{0};  ///< calls for a worker since the last allotment that could not be heard

  alignas(sync::cache_line_bytes) sync::atomic<std::int64_t> last_look_ns_{
      0};                                  ///< of a searcher that stopped, for pushes
  sync::atomic<unsigned> quick_looks_{0};  ///< in a row, each soon after the one before

  alignas(sync::cache_line_bytes) sync::atomic<int> references_{1};
  sync::atomic<bool> kept_{false};  ///< one reference waits for a worker to come and drop it
  sync::atomic<int> users_{0};
  sync::spin_lock sleepers_lock_;
  sleeper* first_sleeper_ = nullptr;
  sleeper* first_slot_waiter_ = nullptr;  ///< guarded by sleepers_lock_
  sync::atomic<int> slot_waiters_{0};

  // Guarded by the resource manager's lock.
  arena* next_arena_ = nullptr;
  arena* previous_arena_ = nullptr;
  arena* next_newcomer_ = nullptr;  ///< its announcer's, then the manager's
  std::list<arena*> place_{this};   ///< its node, while it is on no list of the manager's
  const std::list<arena*>::iterator in_place_ = place_.begin();
  std::uint64_t served_in_ = 0;             ///< the last allotment that gave it workers
  arena* next_to_call_ = nullptr;           ///< of whoever has taken the list, then
  sync::atomic<bool> to_be_called_{false};  ///< on a list of arenas to be called for, with a reference [A16]
};

}  // namespace homing::scheduler
