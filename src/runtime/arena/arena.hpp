/// One computation's place: its slots, mailboxes, shared queues, and who works in it (the paper's task scheduler).
///
/// Parts:     where work lies (work_places), who searches (searchers), who sleeps (sleepers), what it has of the
///            manager (worker_account). Here: slots change hands, pushers call, workers come and go, and the end.
/// Ownership: reference-counted. External references: task_arena objects, application threads whose implicit arena it
///            is; one more for each worker inside or on its way. The resource manager unlinks and deletes it when none
///            is left and no work either.
/// Threads:   everything from any thread that holds a reference, unless a comment says otherwise.
/// Protocols: docs/protocols/arena.md [A*], sleep.md [S*], mailbox.md [M*].
/// Source:    TBB-NUMA 4.3, 4.4.
#pragma once

#include <optional>
#include <span>

#include "platform/check.hpp"
#include "runtime/arena/missed_wake.hpp"
#include "runtime/arena/observer_list.hpp"
#include "runtime/arena/searchers.hpp"
#include "runtime/arena/sleepers.hpp"
#include "runtime/arena/work_places.hpp"
#include "runtime/arena/worker_account.hpp"
#include "runtime/arena/worker_supplier.hpp"
#include "runtime/thread/visit_mark.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {

struct arena_request {
  int max_concurrency = -1;     ///< threads, external ones included; -1: as many as the constraints allow
  unsigned reserved_slots = 1;  ///< of these, for application threads only
  unsigned priority_level = 1;  ///< 0 high, 1 normal, 2 low
  topology::constraints_query constraints;
  bool fast_leave = false;
  std::optional<domain_index> only_domain;  ///< workers of no other domain [A12]; none: as the constraints say
  std::optional<steal_policy> steal;        ///< none: as HOMING_STEAL says
};

class arena final : public work_places, private search_caller {
 public:
  /// In memory of the supplier's, to which it is linked. Errors: std::bad_alloc.
  [[nodiscard]] static arena& make(worker_supplier& supplier, const arena_request& request);
  /// Its end, when it is linked no more.
  void end() noexcept;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  [[nodiscard]] unsigned reserved_slots() const noexcept { return reserved_slots_; }
  [[nodiscard]] unsigned max_concurrency() const noexcept { return max_concurrency_; }
  /// As users see it: one more while mandatory concurrency lends a worker to an arena that has none of its own.
  [[nodiscard]] unsigned concurrency_now() const noexcept {
    return max_concurrency_ + (max_workers_ == 0 && account_.mandatory.load(sync::relaxed) ? 1U : 0U);
  }
  /// [D11] A thief takes several tasks only where there are so many for each; more where threads share CPUs, since who
  /// has taken them may not have one.
  [[nodiscard]] unsigned tasks_a_steal() const noexcept { return shares_cpus() ? 32 : 8; }
  /// Whether it may have more threads than there are CPUs of its own: always on a made-up machine.
  [[nodiscard]] bool shares_cpus() const noexcept { return max_concurrency_ > settings().own_cpus; }
  [[nodiscard]] unsigned max_workers() const noexcept { return max_workers_; }
  [[nodiscard]] unsigned priority_level() const noexcept { return request_.priority_level; }
  [[nodiscard]] const arena_request& request() const noexcept { return request_; }
  [[nodiscard]] worker_supplier& supplier() const noexcept { return supplier_; }
  [[nodiscard]] const scheduler_settings& settings() const noexcept { return supplier_.settings(); }
  /// CPUs that satisfy the constraints, by domain.
  [[nodiscard]] std::span<const unsigned> cpus_by_domain() const noexcept { return cpus_by_domain_; }
  [[nodiscard]] searchers& search() noexcept { return searchers_; }
  [[nodiscard]] const searchers& search() const noexcept { return searchers_; }
  [[nodiscard]] sleepers& asleep() noexcept { return sleepers_; }
  [[nodiscard]] worker_account& account() noexcept { return account_; }
  [[nodiscard]] const worker_account& account() const noexcept { return account_; }
  /// A pinned section's: workers of other domains come for what must be run only, and only if its own domain has none.
  [[nodiscard]] bool is_of_one_domain() const noexcept { return request_.only_domain.has_value(); }
  [[nodiscard]] task_group_context& default_context() noexcept { return default_context_; }

  /// A free slot for the thread, or no_slot. One that comes as a worker gets no reserved slot, and one of its domain if
  /// it can; one that comes by execute(), a worker of another arena perhaps, gets the first that is free.
  [[nodiscard]] slot_id occupy_slot(thread_state& t, thread_kind comes_as) noexcept {
    const bool is_worker = comes_as == thread_kind::worker;
    const slot_id found = is_worker ? occupy_for_worker(t) : occupy_first_free(0, slot_count());
    if (found == no_slot) {
      return no_slot;
    }
    slot(found).domain.store(t.domain, sync::relaxed);
    if (is_worker) {
      t.last_arena = this;
      t.last_slot = found;
    }
    return found;
  }
  void release_slot(slot_id number) noexcept {
    platform::require_hot([&] { return slot(number).hold.is_held(); }, "A1: a slot that is freed is held");
    slot(number).hold.free();
    // [A2] The slot is free before the look for those who wait for one; partner: their list entry, then a heavy fence.
    sync::light_fence();
    if (__builtin_expect(concerns_others_that_slot_is_free(number), false)) {
      tell_others_that_slot_is_free(number);
    }
  }

  /// Puts an item for that affinity into its mailbox; false if there is no room or nobody could come for it.
  [[nodiscard]] bool post(affinity to, std::uintptr_t item, std::uint64_t tag);

  /// After a push to the deque of the slot: calls a thread if none looks for work and one could come. The hot side of
  /// sleep.md [S2].
  [[gnu::always_inline]] void new_work(isolation_tag isolation, domain_index home, const arena_slot& where) noexcept {
    searchers_.pushers_fence();
    if (__builtin_expect(thieves_stay(), false)) {
      new_spawned_work_that_stays(isolation, where);
    } else if (may_come() && searchers_.nobody_seen_from(home)) {
      call_for_spawned_work(isolation, home);
    }
  }
  /// As new_work(), of whatever the slot's deque has.
  void uncovered_work(const arena_slot& where) noexcept;
  /// After a post, or a push to a domain's queue: as new_work(), but a thread that looks for work must be of that
  /// domain.
  void new_mail(work_kind kind, isolation_tag isolation, domain_index home) noexcept {
    searchers_.pushers_fence();
    if (searchers_.nobody_in(home) && could_come() && !(kind == work_kind::mailed && will_have_come(home))) {
      call_somebody({kind, isolation, home}, is_left_to(home) ? reach::home : reach::all);
    }
  }

  /// A worker has come: who was kept for it need not be kept any longer. [A5]
  void drop_kept_reference() noexcept {
    if (account_.kept.load(sync::relaxed) && account_.kept.exchange(false, sync::relaxed)) {
      drop_reference();  // not the last: the worker has its own
    }
  }
  /// False if all slots that a worker may take are taken; then whoever frees one looks for work left.
  [[nodiscard]] bool worker_could_enter() noexcept;
  /// A worker has come, counted as searching: its slot. no_slot if there is none, and then it has left.
  [[nodiscard]] slot_id admit_worker(thread_state& t) noexcept;
  /// When it has stopped looking for work: the last one out says that no workers are wanted, unless there is work.
  /// `this_slot`: the one that it holds still, or no_slot.
  void worker_leaves(domain_index from, slot_id this_slot) noexcept;

  /// Calls a thread, whether or not there is work to be seen, in place of one of that domain that was counted as
  /// searching.
  void call_instead(domain_index home) noexcept;
  /// Calls a thread where there is work that nobody may have been called for; `home` is a hint.
  void call_for_work_left(domain_index home) noexcept;
  /// The same, never asking for a new allotment, so that whoever allots can call it.
  void call_allotted_for_work_left(domain_index home) noexcept;

  /// [S19] A called worker, before it settles in or looks for work: calls up to three more: of the calls that the last
  /// burst of work had use for, or where there are tasks for all that search, and at least so many (> 0).
  void call_others(domain_index home, unsigned tasks_min) noexcept;
  /// [S19] A new worker: has two more made, if there may be more. So all threads are made at the first work, as a tree.
  /// True if it has: then these go on, and the caller had better look for work itself.
  bool make_others(domain_index home) noexcept;

  /// [S19] A worker that was called has found a task.
  void worker_was_of_use() noexcept { useful_workers_.fetch_add(1, sync::relaxed); }

  /// Fewer workers are here or on their way than it is allotted; a hint.
  [[nodiscard]] bool has_unfilled_share() const noexcept {
    return account_.workers.load(sync::relaxed) < account_.allotted.load(sync::relaxed);
  }

  /// Whether an application thread is inside, in a reserved slot, which may bring more work at any time. Not where
  /// threads share CPUs: there others need what a searcher looks with. A hint.
  [[nodiscard]] bool may_go_on_soon() const noexcept;
  /// [A22] Threads in outermost loops that look for work, by domain; some may be application threads. A hint.
  void count_outer_searchers(std::span<int> by_domain) const noexcept;
  /// [A22] Takes off that count who ran dry, or came, just now: short loops follow one another, and the way to another
  /// arena and back takes as long as such a loop. True if there was somebody. A hint.
  [[nodiscard]] bool leave_out_young(std::span<int> by_domain) const noexcept;

  /// Workers that are in the arena or on their way.
  [[nodiscard]] bool has_workers() const noexcept { return account_.workers.load(sync::acquire) != 0; }

  /// Workers: asked to go because there are more than allotted.
  [[nodiscard]] bool worker_should_leave(const thread_state& t) const noexcept;

  /// [A22] Nobody refers to the arena but workers inside that look for work, so nobody brings it any; a hint.
  [[nodiscard]] bool is_abandoned() const noexcept {
    return account_.users.load(sync::relaxed) == 0 &&
           searching.outer_in_all() >= account_.references.load(sync::relaxed);
  }

  void add_reference() noexcept { account_.add_reference(); }
  /// The last reference deletes the arena unless work is left; then the workers that come for it do.
  void drop_reference() noexcept;

  /// A task_arena object or an application thread that refers to the arena; the constructor's reference is the first's.
  void add_user() noexcept {
    account_.users.fetch_add(1, sync::relaxed);
    supplier_.add_user();
  }
  void drop_user(after_use workers = after_use::workers_end) noexcept {
    worker_supplier& supplier = supplier_;
    // acq_rel: the last user sees the visitors that came through others.
    if (account_.users.fetch_sub(1, sync::acq_rel) == 1) {
      leave_reference();
    } else {
      drop_reference();  // another user's is left, which visitors rely on
    }
    supplier.drop_user(workers);
  }
  /// Drops it, unless somebody visits the arena: then the visitor has it. [A4]
  void leave_reference() noexcept;

  /// For any thread to take; enqueue() makes sure that some worker comes even where none is allowed.
  /// For any thread of the domain first; a thread that waits for it may take it wherever it is.
  void detach(task& t, domain_index home);
  /// For any thread in an outermost loop; of that domain first. `pusher`: a number of the calling thread's; what one
  /// sends keeps its order.
  void submit(task& t, domain_index home_or_none, unsigned pusher);
  /// The same, and some worker comes even where none is allowed.
  void enqueue(task& t, domain_index home_or_none, unsigned pusher);
  /// An enqueued task whose maker waits at the door: before all others.
  void delegate(task& t);
  void submit_critical(task& t);
  void submit_resume(left_stack& stack) noexcept;
  /// What the calling thread's deque has no room for.
  [[gnu::noinline]] void overflow(task& t);

  // Around a fork, lifetime.cpp: all locks are held. In the child, nobody but `forker` is left in it, and no stack but
  // those that are suspended.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void forget_all_but(const thread_state& forker) noexcept;

  observer_list observers;
  known_visitors visitors;

  /// A parallel phase: workers come at its begin and stay longer. `leave_fast`: at its end they go at once, until
  /// workers are wanted anew.
  void begin_phase() noexcept;
  void end_phase(bool leave_fast) noexcept;
  [[nodiscard]] bool in_phase() const noexcept { return phases_.load(sync::relaxed) > 0; }
  [[nodiscard]] bool leaves_fast() const noexcept {
    return request_.fast_leave || leaves_fast_once_.load(sync::relaxed);
  }

  // ---- for the resource manager

  /// For who lists the arena, or has found it listed: the exchange of `listed` is behind `busy`. [A9]
  [[nodiscard]] bool wants_workers() const noexcept {
    return account_.busy.load(sync::relaxed) && (max_workers_ != 0 || account_.mandatory.load(sync::relaxed));
  }
  /// Says that no workers are wanted, unless work shows, behind a fence if anybody might push; true if so. [A3]
  enum class pushers : bool { may_come, gone };
  /// `this_slot`: which the calling thread holds, without pushing.
  bool stand_down(pushers who, slot_id this_slot) noexcept;

 private:
  /// How many threads may be in it, and how many slots that takes.
  struct size {
    unsigned max_concurrency;
    unsigned reserved_slots;
    counts places;
    [[nodiscard]] std::size_t bytes() const noexcept;
  };
  [[nodiscard]] static size size_for(const worker_supplier& supplier, const arena_request& request);
  arena(worker_supplier& supplier, const arena_request& request, const size& s, arena_room room);
  ~arena() = default;

  /// The heavy side of a pusher's light fence.
  void see_pushes(slot_id this_slot) noexcept;

  // search_caller
  [[nodiscard]] bool could_come() const noexcept override;
  /// No less than that, at a glance: an arena of one thread calls nobody.
  [[nodiscard]] bool may_come() const noexcept {
    return !account_.busy.load(sync::relaxed) || sleepers_.any() || account_.mandatory.load(sync::relaxed) ||
           account_.workers.load(sync::relaxed) < static_cast<int>(max_workers_);
  }
  /// [S19] Whether that domain's first workers are made by others than this thread, and mail for it has somebody in the
  /// arena to rely on meanwhile: as a push has. Hints, but for the searcher.
  [[nodiscard]] bool will_have_come(domain_index home) const noexcept {
    return supplier_.others_are_made() && !thieves_stay() && !searchers_.nobody_seen_from(home);
  }
  void call(const work_call& call, reach who) noexcept override { call_somebody(call, who); }
  void found_nothing_left() noexcept override;

  [[nodiscard]] int workers_wanted() const noexcept;
  // Of new_work(), what is done apart: it ends by a jump to one of them.
  [[gnu::noinline]] void call_for_spawned_work(isolation_tag isolation, domain_index home) noexcept;
  [[gnu::noinline]] void new_spawned_work_that_stays(isolation_tag isolation, const arena_slot& where) noexcept;
  /// Pushes, and passes a full fence.
  void push_enqueued(task& t, domain_index home_or_none, unsigned pusher);
  /// After the push of what must be run even where no worker is allowed, and a full fence.
  void want_mandatory_worker() noexcept;
  void want_mandatory_worker_if_deserted() noexcept;
  void call_workers_for_phase() noexcept;
  [[nodiscard]] bool has_free_worker_slot() const noexcept;
  [[gnu::noinline]] void call_somebody(const work_call& call, reach who) noexcept;
  /// The part of it that somebody relies on.
  void call_one(const work_call& call, reach who) noexcept;
  /// [S19] A burst of work begins.
  void expect_workers() noexcept;
  /// [S19] Whether one of the burst's expected calls is the caller's to make. There is an end to them: else threads
  /// that find nothing would call each other for ever.
  [[nodiscard]] bool take_expected_call() noexcept;
  /// [S19] One more, on whom nobody relies. False if none can come.
  bool call_another(domain_index home) noexcept;
  [[nodiscard]] bool has_use_for_another() const noexcept;
  /// The part of it that never asks for a new allotment, so that whoever allots can call it.
  void call_allotted(const work_call& call, reach who) noexcept;
  [[gnu::noinline]] void new_work_that_stays(work_call call, const arena_slot& where) noexcept;
  void new_common_work(const work_call& call) noexcept;
  /// [S14] After the push and a full fence: searchers in nested waits need pass none.
  void new_enqueued_work(domain_index home_or_none) noexcept;
  void worker_found_no_slot(const thread_state& t) noexcept;
  /// Calls where the work is that is left: once for each domain that has some, if its threads may not leave it.
  template <typename Call>
  void for_work_left(domain_index home, Call&& call) noexcept;
  // A slot_id and no optional: that one is put together in memory, and the load that follows waits for both stores.
  [[nodiscard]] slot_id occupy_first_free(unsigned first, unsigned last) noexcept {
    for (unsigned i = first; i < last; ++i) {
      const slot_id number{static_cast<std::uint16_t>(i)};
      if (slot(number).hold.try_take()) {
        return number;
      }
    }
    return no_slot;
  }
  [[nodiscard]] slot_id occupy_for_worker(const thread_state& t) noexcept;
  /// Behind the fence of who has freed a slot: whether there may be something for tell_others_that_slot_is_free().
  [[nodiscard]] bool concerns_others_that_slot_is_free(slot_id number) const noexcept {
    return sleepers_.any_for_slot() || missed_wake_.may_be_noted() ||
           (thieves_stay() && !slot(number).tasks.looks_empty()) || (is_without_workers() && !resumed.empty());
  }
  [[gnu::cold, gnu::noinline]] void tell_others_that_slot_is_free(slot_id number) noexcept;
  [[nodiscard]] bool is_deserted() const noexcept;
  /// [A20] No worker may come, but a mandatory one.
  [[nodiscard]] bool is_without_workers() const noexcept {
    return max_workers_ == 0 || supplier_.allottable_workers() == 0;
  }

  worker_supplier& supplier_;
  const arena_request request_;
  const unsigned max_concurrency_;
  const unsigned reserved_slots_;
  const unsigned max_workers_;
  task_group_context default_context_{task_group_context::isolated, task_group_context::fp_settings};
  missed_wake missed_wake_;
  sync::atomic<int> phases_{0};
  sync::atomic<bool> leaves_fast_once_{false};
  /// [S19] A burst of work begins with a call while no worker is here, and ends when the last one has left. relaxed,
  /// all of it: hints, by which nothing is published and on which nobody relies.
  sync::atomic<unsigned> useful_workers_{0};  ///< in this burst: that were called and found a task
  sync::atomic<int> expected_calls_{0};       ///< left to be made in this burst, of as many as the last one had use for
  static constexpr std::int64_t just_now_ns = 60'000;  ///< several times a worker's way to another arena
  static constexpr unsigned starved_calls_per_look = 256;
  static constexpr unsigned others_made = 2;    ///< by a worker that is new itself
  static constexpr unsigned others_called = 3;  ///< by one that was called itself, or by who begins a burst

  searchers searchers_;
  worker_account account_;
  sleepers sleepers_;
  const std::span<unsigned> cpus_by_domain_;
};

/// [A4] For whoever goes on using an arena that may end meanwhile. Visitors don't rely on it.
class arena_reference {
 public:
  explicit arena_reference(arena& a) noexcept : arena_(a) { arena_.add_reference(); }
  ~arena_reference() { arena_.drop_reference(); }
  arena_reference(const arena_reference&) = delete;
  arena_reference& operator=(const arena_reference&) = delete;

 private:
  arena& arena_;
};

}  // namespace homing::scheduler
