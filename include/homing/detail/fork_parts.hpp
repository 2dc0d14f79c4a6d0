/// The parts of fork_join(): a branch with its callable and its result, and the order in which branches are joined.
///
/// Ownership: a branch lies on the stack of the fork_join() that made it, until that has joined it.
/// Threads:   a branch runs once, on its owner's thread or on that of a task.
/// Protocol:  docs/protocols/fork_lane.md.
#pragma once

#include <homing/detail/fork_lane.hpp>
#include <homing/detail/read_anew.hpp>
#include <homing/detail/tasks_door.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace homing::detail {

/// What a branch's result is in a fork's: void is an empty value, and a const one is the caller's to change.
template <class F>
using result_of_branch = std::conditional_t<std::is_void_v<std::invoke_result_t<F>>, std::monostate,
                                            std::remove_cv_t<std::invoke_result_t<F>>>;

template <class F>
[[gnu::always_inline]] inline result_of_branch<F&> call_branch(F& f) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    std::invoke(f);
    return {};
  } else {
    return std::invoke(f);
  }
}

/// Which exception came first: numbers in the order in which they were caught.
inline std::atomic<std::uint64_t> exceptions_caught{0};

/// An exception, and when it was caught.
struct caught_exception {
  std::exception_ptr what;
  std::uint64_t when = 0;

  /// Of the exception that is being handled.
  [[nodiscard]] static caught_exception current() noexcept {
    // relaxed: only the order among the numbers matters.
    return {std::current_exception(), exceptions_caught.fetch_add(1, std::memory_order_relaxed)};
  }
  void keep_first(caught_exception&& other) noexcept {
    if (what == nullptr || (other.what != nullptr && other.when < when)) *this = std::move(other);
  }
};

/// What a branch leaves if another thread runs it: a result or an exception. Begins with neither.
template <class Result>
class branch_outcome {
  using stored = std::conditional_t<std::is_reference_v<Result>, std::remove_reference_t<Result>*, Result>;

 public:
  branch_outcome() noexcept {}   // NOLINT(modernize-use-equals-default): nothing is initialized
  ~branch_outcome() noexcept {}  // NOLINT(modernize-use-equals-default): whoever knows what there is ends it

  template <class F>
  void make(F& f) {
    if constexpr (std::is_reference_v<Result>) {
      auto&& result = call_branch(f);
      ::new (static_cast<void*>(std::addressof(value_))) stored(std::addressof(result));
    } else {
      ::new (static_cast<void*>(std::addressof(value_))) Result(call_branch(f));
    }
  }
  void fail() noexcept { ::new (static_cast<void*>(&error_)) caught_exception(caught_exception::current()); }

  /// The result, which is no longer here.
  [[nodiscard]] Result take() {
    if constexpr (std::is_reference_v<Result>) {
      return static_cast<Result>(*value_);
    } else {
      struct end {
        Result& value;
        ~end() { value.~Result(); }
      } const after{value_};
      return std::move(value_);
    }
  }
  [[nodiscard]] caught_exception take_error() noexcept {
    caught_exception taken = std::move(error_);
    error_.~caught_exception();
    return taken;
  }
  [[nodiscard]] const caught_exception& error() const noexcept { return error_; }
  void discard() noexcept {
    if constexpr (!std::is_reference_v<Result>) value_.~Result();
  }

 private:
  union {
    stored value_;
    caught_exception error_;
  };
};

/// A branch with its callable: a copy of what was passed as an rvalue, a reference to an lvalue.
template <class F>
class branch final : public fork_branch {
 public:
  using result = result_of_branch<std::remove_reference_t<F>&>;
  static constexpr bool has_value = !std::is_void_v<std::invoke_result_t<std::remove_reference_t<F>&>>;

  explicit branch(F&& f) : fork_branch(&run_as_task), f_(std::forward<F>(f)) {}

  /// On the owner's thread; an exception goes to the caller.
  [[gnu::always_inline]] result run_here() { return call_branch(f_); }
  /// The same, as a task would: what comes of it stays here.
  void run_and_store() noexcept {
    try {
      outcome_.make(f_);
      end = fate::done;
    } catch (...) {
      outcome_.fail();
      end = fate::threw;
    }
  }
  /// A value that nobody has made, since the group was cancelled.
  void run_if_missing() noexcept {
    if (has_value && end == fate::skipped) run_and_store();
  }
  [[nodiscard]] result take() { return outcome_.take(); }
  /// Of a branch that may have been left out.
  [[nodiscard]] result take_or_nothing() {
    if constexpr (!has_value) {
      if (end == fate::skipped) return {};
    }
    return take();
  }
  [[nodiscard]] caught_exception take_error() noexcept { return outcome_.take_error(); }
  void discard() noexcept { outcome_.discard(); }
  /// It keeps the exception, for has_thrown_elsewhere() and take_error().
  [[noreturn]] void throw_copy() { std::rethrow_exception(outcome_.error().what); }
  /// Once it is joined.
  [[nodiscard]] bool has_thrown_elsewhere() const noexcept {
    return run.load(std::memory_order_relaxed) == nullptr && end == fate::threw;
  }

 private:
  static void run_as_task(fork_branch& self, bool cancelled) noexcept {
    auto& b = static_cast<branch&>(self);
    // A value is made also after a cancellation: there would be none otherwise.
    if ((cancelled && !has_value) || is_unwanted(b)) {
      b.end = fate::skipped;
      return;
    }
    b.run_and_store();
  }

  F f_;
  [[no_unique_address]] branch_outcome<result> outcome_;
};

/// The calling thread's lane, as this program or library knows it; null before its first fork, and once the thread has
/// left our library. Initial-exec: one load. No destructor: the C library ends the process where it has no memory for
/// one.
inline constinit thread_local fork_lane* known_lane __attribute__((tls_model("initial-exec"), used)) = nullptr;

/// Null if the process runs on another libtbb.so.12 than ours, or in a first call without memory.
[[gnu::noinline, gnu::cold]] inline fork_lane* open_lane() noexcept try {
  const tasks_door* const open = fork_door();
  return open == nullptr ? nullptr : open->open_lane(&known_lane);
} catch (...) {
  return nullptr;
}

/// Anew each time: a branch that suspends may have moved the stack to another thread. [F7]
[[gnu::always_inline]] inline fork_lane* lane_of_caller() noexcept {
  fork_lane* known;
  HOMING_READ_ANEW(known, known_lane, "_ZN6homing6detail10known_laneE");
  return __builtin_expect(known != nullptr, true) ? known : open_lane();
}

}  // namespace homing::detail
