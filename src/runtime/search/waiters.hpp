/// Waiters: what a dispatch loop goes on for, and what its thread does when there is nothing to run.
///
/// A loop asks its waiter after each task, and runs until the waiter has what it waits for. Four kinds wait for a wait
/// context; for the manager's order to leave; for the base stack of a coroutine's thread; for an arena to be empty.
///
/// Threads:   the one that runs the loop; a loop on a coroutine may go on with another.
/// Protocols: docs/protocols/sleep.md [S1], [S5], [S6], [S13], suspend.md [U5], arena.md [A22].
#pragma once

#include <concepts>

#include "runtime/arena/arena.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/stack/stack_switching.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/thread/wait_table.hpp"

namespace homing::scheduler {

enum class rest_result : std::uint8_t {
  look_again,
  called,  ///< the same, on behalf of whoever has called: the call is handed on if there is no use for it [S13]
  leave    ///< the loop ends
};

template <typename W>
concept waiter = requires(W& w, const W& asked, const thread_state& t, thread_state& mine, const search_scope& scope) {
  /// Whether a resume task ends the loop, and is its result; else the loop goes on with that stack.
  { W::takes_resume_as_end } -> std::convertible_to<bool>;
  /// Whether the thread is any arena's: between two looks it sees to those that wait for a worker. [A22]
  { W::is_for_any_arena } -> std::convertible_to<bool>;
  /// The context that a nested wait on a coroutine waits for; null: none.
  { asked.wait() } -> std::same_as<wait_context*>;
  /// False once it has what it waits for.
  { asked.keep_going(t) } -> std::same_as<bool>;
  /// Whether nobody can bring what it looks for: it leaves after one look more. [A22]
  { w.nothing_can_come(t) } -> std::same_as<bool>;
  /// False if the thread must leave work that there is to others; not asked of a stack that may go on.
  { W::may_take(t) } -> std::same_as<bool>;
  /// Nothing was found for as long as a thread looks.
  { w.rest(mine, scope) } -> std::same_as<rest_result>;
};

/// Asleep in the arena until a waker, or `ready()`, says otherwise. A counted thread stops searching, and searches
/// again.
template <typename Ready>
rest_result sleep_in_arena(thread_state& t, const search_scope& scope, Ready&& ready) {
  arena& a = *t.in;
  sleeper me(t, scope);
  a.asleep().add(me);  // [S1] announced ...
  a.ask_for_forks();
  if (scope.is_counted()) {
    a.search().stop_to_sleep(t, scope);
  }
  const bool left_more = step_aside(t, scope.isolation == no_isolation ? rest_place::slot : rest_place::elsewhere);
  sync::heavy_fence();  // ... before the last look
  if (__builtin_expect(left_more, false)) {
    call_for_slots_left(t);
  }
  if (!ready() && !a.has_work(scope, t.domain)) {
    a.supplier().park(t.parker);  // [S5]
  }
  const bool called = a.asleep().remove(me);
  if (!scope.is_counted()) {
    return called ? rest_result::called : rest_result::look_again;
  }
  if (called) {
    a.search().adopt(t);
  } else {
    a.search().enter(t, scope);
  }
  return rest_result::look_again;
}

/// Waits for a wait context, on any stack and at any depth.
class context_waiter {
 public:
  explicit context_waiter(wait_context& wait) noexcept : wait_(wait) {}

  static constexpr bool takes_resume_as_end = false;
  static constexpr bool is_for_any_arena = false;

  [[nodiscard]] wait_context* wait() const noexcept { return &wait_; }
  [[nodiscard]] bool keep_going(const thread_state&) const noexcept { return arena_access::is_waited_for(wait_); }
  [[nodiscard]] static bool nothing_can_come(const thread_state&) noexcept { return false; }
  [[nodiscard]] static bool may_take(const thread_state&) noexcept { return true; }

  rest_result rest(thread_state& t, const search_scope& scope) {
    if (base_is_recalled(t)) {
      return leave_stack(t, scope);
    }
    wait_table::entry entry;
    entry.address = reinterpret_cast<std::uintptr_t>(&wait_);
    entry.thread = &t;
    waiting_threads.add(entry);
    const rest_result how = sleep_in_arena(t, scope, [&] { return !keep_going(t) || base_is_recalled(t); });
    waiting_threads.remove(entry);
    return how;
  }

 private:
  rest_result leave_stack(thread_state& t, const search_scope& scope) {
    if (scope.is_counted()) {
      t.in->search().stop_searching(t, scope);  // [S3] the thread goes on in its base, and looks for nobody
    }
    if (t.is_absent) {
      step_back(t);  // the stack is left, not the thread
    }
    dispatcher& d = *t.running;
    const leave_result how = yield_until_empty(t, wait_, scope);
    thread_state& now = *d.thread;  // may be another
    if (scope.is_counted()) {
      now.in->search().enter(now, scope);
    }
    return how == leave_result::called ? rest_result::called : rest_result::look_again;
  }

  wait_context& wait_;
};

/// A worker's outermost loop: as long as there is work and the manager lets it stay.
class worker_waiter {
 public:
  static constexpr bool takes_resume_as_end = false;
  static constexpr bool is_for_any_arena = true;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state& t) noexcept { return !t.in->worker_should_leave(t); }
  [[nodiscard]] static bool nothing_can_come(const thread_state& t) noexcept { return t.in->is_abandoned(); }
  /// Whether it has looked for as long as a thread looks.
  [[nodiscard]] bool has_looked_long() const noexcept { return has_looked_long_; }
  // Whoever lowers a limit and then spawns finds it kept: seeing the task acquires the new allotment. [A12]
  [[nodiscard]] static bool may_take(const thread_state& t) noexcept { return keep_going(t); }
  rest_result rest(thread_state&, const search_scope&) noexcept {
    has_looked_long_ = true;
    return rest_result::leave;
  }

 private:
  bool has_looked_long_ = false;
};

/// The outermost loop on a coroutine: until the base stack of its thread may go on.
class coroutine_waiter {
 public:
  static constexpr bool takes_resume_as_end = true;
  static constexpr bool is_for_any_arena = false;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state& t) noexcept { return !base_is_recalled(t); }
  [[nodiscard]] static bool nothing_can_come(const thread_state&) noexcept { return false; }
  [[nodiscard]] static bool may_take(const thread_state&) noexcept { return true; }
  static rest_result rest(thread_state& t, const search_scope& scope) {
    return sleep_in_arena(t, scope, [&] { return base_is_recalled(t); });
  }
};

/// A visitor who helps until the arena is empty.
class empty_waiter {
 public:
  static constexpr bool takes_resume_as_end = false;
  static constexpr bool is_for_any_arena = false;
  [[nodiscard]] static wait_context* wait() noexcept { return nullptr; }
  [[nodiscard]] static bool keep_going(const thread_state&) noexcept { return true; }
  [[nodiscard]] static bool nothing_can_come(const thread_state&) noexcept { return false; }
  [[nodiscard]] static bool may_take(const thread_state&) noexcept { return true; }
  static rest_result rest(thread_state&, const search_scope&) noexcept { return rest_result::leave; }
};

static_assert(waiter<context_waiter> && waiter<worker_waiter> && waiter<coroutine_waiter> && waiter<empty_waiter>);

}  // namespace homing::scheduler
