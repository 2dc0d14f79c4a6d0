/// The children of a loop as one entry of the caller's lane: whoever takes it has all that have not begun.
///
/// Threads:  the calling thread; others take what it has not begun.
/// Protocol: docs/protocols/fork_lane.md.
#pragma once

#include <homing/detail/fork_parts.hpp>
#include <homing/detail/fork_run.hpp>

#include <cstddef>

namespace homing::detail {

template <class Index, class Body>
class rest_of_children;
template <class Index, class Body>
void fork_children(fork_lane& lane, Index first, Index last, Body& body,
                   rest_of_children<Index, Body>* taken = nullptr);

/// All children behind the one that its owner is at.
template <class Index, class Body>
class rest_of_children final : public fork_branch {
 public:
  static constexpr bool has_value = false;

  /// `taken`: the entry out of which its owner took these children; null: nobody's.
  rest_of_children(Index at, Index last, Body& body, rest_of_children* taken) noexcept
      : fork_branch(&run_as_task), at_(at), last_(last), body_(body), taken_(taken) {}

  /// A child before those of this entry has thrown, or before those of one that it was taken out of. Their owners wait
  /// for whoever asks. Costs time by their number: `turn` says when all are looked at.
  [[nodiscard]] static bool is_without_use(rest_of_children* taken, unsigned turn) noexcept {
    if (taken == nullptr) return false;
    if (turn % 16 != 0) return is_unwanted(*taken);
    for (; taken != nullptr; taken = taken->taken_) {
      if (is_unwanted(*taken)) return true;
    }
    return false;
  }

  [[nodiscard]] Index at() const noexcept { return at_; }
  /// The owner, who has it back, goes on to the next one; false if that is the last.
  [[nodiscard, gnu::always_inline]] bool advance() noexcept { return ++at_ != last_ - 1; }
  /// It was its owner's again after it had left the lane, and may go into it once more.
  void renew() noexcept { run.store(&run_as_task, std::memory_order_relaxed); }
  void discard() noexcept {}
  [[nodiscard]] caught_exception take_error() noexcept { return outcome_.take_error(); }

 private:
  static void run_as_task(fork_branch& self, bool cancelled) noexcept {
    auto& rest = static_cast<rest_of_children&>(self);
    if (cancelled || is_without_use(&rest, 0)) {
      rest.end = fate::skipped;
      return;
    }
    auto others = [&rest] {
      if (fork_lane* const lane = lane_of_caller(); lane != nullptr) {
        fork_children<Index, Body>(*lane, rest.at_ + 1, rest.last_, rest.body_, &rest);
      } else {  // no memory for a lane
        for (Index i = rest.at_ + 1; i != rest.last_ && !is_without_use(&rest, 0); ++i) rest.body_(i);
      }
    };
    try {
      others();
      rest.end = fate::done;
    } catch (...) {
      rest.outcome_.fail();
      rest.end = fate::threw;
    }
  }

  Index at_;
  const Index last_;
  Body& body_;
  rest_of_children* const taken_;
  branch_outcome<std::monostate> outcome_;
};

/// The lane of the thread that this is now: a body may have moved the stack to another.
[[gnu::noinline, gnu::cold]] inline fork_lane* lane_after_move() noexcept { return lane_of_caller(); }

/// first < last.
template <class Index, class Body>
void fork_children(fork_lane& first_lane, Index first, Index last, Body& body, rest_of_children<Index, Body>* taken) {
  using rest_type = rest_of_children<Index, Body>;
  if (first == last - 1) {
    if (__builtin_expect(first_lane.is_asked(), false) && first_lane.calls->is_cancelled()) return;
    body(first);
    return;
  }
  rest_type rest(first, last, body, taken);
  fork_lane* lane = &first_lane;
  std::size_t at = 0;
  bool is_pushed = false;
  unsigned turn = 0;
  branch_outcome<std::monostate> failed;
  try {
    do {
      is_pushed = true;
      const bool goes_on = lane->push(rest, at) || lane->calls->pushed(*lane);
      if (__builtin_expect(goes_on, true)) body(rest.at());
      is_pushed = false;
      if (__builtin_expect(!lane->try_pop(rest, at), false)) {
        if (!lane->calls->join(*lane, at, rest)) {
          ending e;
          e.add(rest);
          return e.rethrow_if_any();
        }
        rest.renew();
        lane = lane_after_move();
      }
      if (__builtin_expect(lane == nullptr, false)) {  // no memory for one
        while (rest.advance()) {
          if (rest_type::is_without_use(taken, ++turn)) return;
          body(rest.at());
        }
        break;
      }
      if (rest_type::is_without_use(taken, ++turn)) return;
      if (__builtin_expect(!goes_on || (lane->is_asked() && lane->calls->is_cancelled()), false)) return;
    } while (rest.advance());
    body(rest.at());
    return;
  } catch (...) {
    if (!is_pushed) throw;
    failed.fail();
  }
  // Behind the catch clause: the wait may move the stack to another thread.
  ending e(failed.take_error());
  if (!lane->try_pop(rest, at) && !join_unwanted(*lane, at, rest)) e.add(rest);
  e.rethrow_if_any();
}

}  // namespace homing::detail
