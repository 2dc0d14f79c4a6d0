/// Who is searching in an arena: the threads that pushers rely on, and what those owe who stop.
///
/// Callers name the event; what it does to the counts, and who must look or be called then, is here. A thread is
/// counted in its domain, and its domain among those where somebody searches, from enter() or from the moment somebody
/// wakes it (transfer_to()), until one of the stops. A thread whose scope is not counted [S13] takes part in none of
/// it.
///
/// Threads:   any; each event by the thread that it concerns, but for transfer_to(), withdraw() and the questions.
/// Protocols: docs/protocols/sleep.md [S1], [S3], [S4], [S8], [S9], [S10], [S14], [S16].
/// Source:    TBB-NUMA figure 9 (the counter of a domain's idle threads).
#pragma once

#include "platform/check.hpp"
#include "runtime/arena/work_places.hpp"
#include "runtime/task/search_scope.hpp"

namespace homing::scheduler {

/// Who calls threads on behalf of a searcher that stops: the arena.
class search_caller {
 public:
  /// Whether anybody could come who does not search already.
  [[nodiscard]] virtual bool could_come() const noexcept = 0;
  virtual void call(const work_call& call, reach who) noexcept = 0;
  /// The last searcher has gone, and nothing is left that it could have taken.
  virtual void found_nothing_left() noexcept = 0;

 protected:
  ~search_caller() = default;
};

class searchers {
 public:
  searchers(work_places& places, search_caller& caller) noexcept : places_(places), caller_(caller) {}

  // ---- events

  /// The thread begins to look for work. Returns the time, by platform::monotonic_ns().
  std::int64_t enter(thread_state& t, const search_scope& scope) noexcept;
  /// [S4] On behalf of a thread of that domain that the caller is about to wake: the next push wakes no second one.
  void transfer_to(domain_index domain, const search_scope& scope) noexcept;
  /// The woken thread has come, and searches with the mark that its waker made. Returns the time.
  std::int64_t adopt(thread_state& t) noexcept;
  /// [S3] The thread has a task, or what it waited for has come, or [S8] it runs its user's code: if it was the last
  /// one, it looks for what is left and calls for that.
  void stop_searching(thread_state& t, const search_scope& scope) noexcept;
  /// [S1] The thread is listed as asleep; a heavy fence and its last look follow.
  void stop_to_sleep(thread_state& t, const search_scope& scope) noexcept;
  /// A woken worker that can't search after all, by its domain. Whoever withdraws it has somebody else called.
  void withdraw(domain_index domain) noexcept;
  /// In the child of a fork nobody searches.
  void forget_after_fork() noexcept;

  // ---- questions of pushers, behind pushers_fence()

  /// The pusher's side of S2 and S3: next to nothing, unless searchers stop so often that their side costs more.
  void pushers_fence() noexcept {
    sync::light_fence();
    // relaxed: who takes the duty back looks behind a heavy fence, before which this push is seen, and behind which the
    // count says that it has gone. [S9]
    if (__builtin_expect(fence_duty_.load(sync::relaxed) != fence_duty::searchers, false)) {
      sync::full_fence();
    }
  }
  /// By who pushed in that domain, whose own count is the near one. [S16]
  [[nodiscard]] bool nobody_seen_from(domain_index domain) const noexcept {
    return places_.searching.seen_from(domain) == 0;
  }
  [[nodiscard]] bool nobody_in(domain_index domain) const noexcept { return places_.searching.in_domain(domain) == 0; }
  /// Of those that surely may take work of that kind.
  [[nodiscard]] bool nobody_for(work_kind kind) const noexcept {
    return able_searchers(kind, places_.searching.domains()) == 0;
  }
  [[nodiscard]] bool nobody_for(work_kind kind, domain_index domain) const noexcept {
    return able_searchers(kind, places_.searching.in_domain(domain)) == 0;
  }

  /// Looks of searchers that stop: so soon after one another that pushers had better pay, and so rare that they need
  /// not. [S9]
  struct look_pace {
    std::int64_t soon_ns = 250'000;
    std::int64_t rare_ns = 1'000'000;
  };
  /// For tests of one side alone; before anybody is in the arena.
  void set_look_pace(look_pace p) noexcept { look_pace_ = p; }

 private:
  void hand_over(const thread_state& t) noexcept;
  void hand_over_enqueued(domain_index domain) noexcept;
  void see_all_pushes() noexcept;

  work_places& places_;
  search_caller& caller_;

  // Pushers read it after each push; hardly anybody writes it.
  /// Who pays for the race between a push and a searcher that stops. [S9]
  enum class fence_duty : std::uint8_t { searchers, changing, pushers };
  alignas(sync::cache_line_bytes) sync::atomic<fence_duty> fence_duty_{fence_duty::searchers};
  look_pace look_pace_;

  // Of a searcher that stopped, for pushes.
  alignas(sync::cache_line_bytes) sync::atomic<std::int64_t> last_look_ns_{0};
  sync::atomic<unsigned> quick_looks_{0};  ///< in a row, each soon after the one before
};

}  // namespace homing::scheduler
