/// How the branches of a fork run: on the calling thread's lane, by address, or on another libtbb.so.12 than ours.
///
/// Threads:  the calling thread; what it forks may run on others.
/// Errors:   the first exception of a branch, once all that have begun have ended.
/// Protocol: docs/protocols/fork_lane.md.
#pragma once

#include <homing/detail/fork_parts.hpp>

#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace homing::detail {

template <class... F>
inline constexpr bool all_are_void = (!branch<F>::has_value && ...);

/// Values by branch, in order; void if no branch has one.
template <class... F>
using fork_results = std::conditional_t<all_are_void<F...>, void, std::tuple<typename branch<F>::result...>>;

/// Collects what became of branches that nobody will see: values are dropped, and the first exception is kept.
class ending {
 public:
  explicit ending(caught_exception&& first = {}) noexcept : first_(std::move(first)) {}
  template <class Branch>
  void add(Branch& b) noexcept {
    if (b.end == fork_branch::fate::done) b.discard();
    if (b.end == fork_branch::fate::threw) first_.keep_first(b.take_error());
  }
  void rethrow_if_any() {
    if (first_.what != nullptr) std::rethrow_exception(std::move(first_.what));
  }

 private:
  caught_exception first_;
};

/// The branches of a fork that lie in its caller's lane, the last one oldest. One object, and so one address: what the
/// rare paths need would otherwise be kept in registers, which each call saves.
template <class... G>
struct lane_branches {
  explicit lane_branches(G&&... g) : all(std::forward<G>(g)...) {}
  std::tuple<branch<G>...> all;
  branch_outcome<std::monostate> failed;  ///< what the branch that runs here has thrown
};

/// The join of a branch that is not simply the owner's.
template <class Branch>
[[gnu::noinline, gnu::cold]] typename Branch::result join_slowly(fork_lane& lane, std::size_t at, Branch& b) {
  if (lane.calls->join(lane, at, b)) {
    if constexpr (!Branch::has_value) {
      if (lane.calls->is_cancelled()) return {};
    }
    return b.run_here();
  }
  if (b.end == fork_branch::fate::threw) b.throw_copy();
  return b.take_or_nothing();
}

template <class Branch>
[[gnu::always_inline]] inline typename Branch::result join_branch(fork_lane& lane, std::size_t at, Branch& b) {
  if (__builtin_expect(!lane.try_pop(b, at), false)) return join_slowly(lane, at, b);
  if constexpr (!Branch::has_value) {
    if (__builtin_expect(lane.is_asked(), false) && lane.calls->is_cancelled()) return {};
  }
  return b.run_here();
}

/// Nobody will see what comes of the branch: if it has been given and has not begun, it need not.
inline void leave_out(fork_branch& b) noexcept {
  // relaxed: null by this thread's own hand, or else the join says that a thief has it.
  if (b.run.load(std::memory_order_relaxed) == nullptr) set_unwanted(b);
}

/// As calls->join(), of a branch whose result nobody will see.
inline bool join_unwanted(fork_lane& lane, std::size_t at, fork_branch& b) noexcept {
  leave_out(b);
  return lane.calls->join(lane, at, b);
}

/// The end of a fork whose branches shall not run, or of whose first `joined` branches the last has thrown, or the
/// first of all: the others end, and the first exception is thrown. Not from within a catch clause: the wait may move
/// the stack to another thread, and what C++ knows of a caught exception is a thread's.
template <class... G, std::size_t... I>
[[gnu::noinline, gnu::cold]] void end_branches(fork_lane& lane, lane_branches<G...>& branches,
                                               const std::array<std::size_t, sizeof...(G)> at, std::size_t joined,
                                               caught_exception&& first, std::index_sequence<I...>) {
  ending e(std::move(first));
  // All, before the first join: while the thread waits there, it may take another.
  const auto leave_out_one = [&](std::size_t i, auto& b) {
    if (i >= joined) leave_out(b);
  };
  (leave_out_one(I, std::get<I>(branches.all)), ...);
  const auto end_one = [&](std::size_t i, auto& b) {
    const bool is_ours = i >= joined && (lane.try_pop(b, at[i]) || join_unwanted(lane, at[i], b));
    if (i < joined ? b.has_thrown_elsewhere() : !is_ours) e.add(b);
  };
  (end_one(I, std::get<I>(branches.all)), ...);
  e.rethrow_if_any();
}

/// Within the catch clause. Not inline: registers that it keeps would be saved in each call of its caller.
[[gnu::noinline, gnu::cold]] inline void keep_failure(branch_outcome<std::monostate>& of) noexcept { of.fail(); }

/// Behind it.
template <class... G, std::size_t... I>
[[noreturn, gnu::noinline, gnu::cold]] void end_failed(fork_lane& lane, lane_branches<G...>& branches,
                                                       const std::array<std::size_t, sizeof...(G)> at,
                                                       std::size_t joined, std::index_sequence<I...> order) {
  end_branches(lane, branches, at, joined, branches.failed.take_error(), order);
  __builtin_unreachable();
}

/// `f` here, the others here or on other threads.
template <class F, class... G, std::size_t... I>
[[gnu::always_inline]] inline auto fork_on_lane(fork_lane& lane, std::index_sequence<I...> order, F& f, G&&... g)
    -> fork_results<F&, G...> {
  constexpr std::size_t count = sizeof...(G);
  lane_branches<G...> branches(std::forward<G>(g)...);
  std::array<std::size_t, count> at;
  bool goes_on = true;
  const auto push = [&](auto which) __attribute__((always_inline)) {
    constexpr std::size_t i = count - 1 - decltype(which)::value;
    if (__builtin_expect(!lane.push(std::get<i>(branches.all), at[i]), false)) goes_on = lane.calls->pushed(lane);
  };
  (push(std::integral_constant<std::size_t, I>()), ...);
  if constexpr (all_are_void<F&, G...>) {
    if (__builtin_expect(!goes_on, false)) return end_branches(lane, branches, at, 0, {}, order);
  }
  std::size_t joined = 0;
  const auto join = [&](auto which) __attribute__((always_inline))->decltype(auto) {
    constexpr std::size_t i = decltype(which)::value;
    joined = i + 1;
    return join_branch(lane, at[i], std::get<i>(branches.all));
  };
  try {
    if constexpr (all_are_void<F&, G...>) {
      call_branch(f);
      (join(std::integral_constant<std::size_t, I>()), ...);
      return;
    } else {
      const auto run_first = [&]() __attribute__((always_inline))->decltype(auto) {
        if constexpr (!branch<F&>::has_value) {
          if (__builtin_expect(!goes_on, false)) return std::monostate();
        }
        return call_branch(f);
      };
      return fork_results<F&, G...>{run_first(), join(std::integral_constant<std::size_t, I>())...};
    }
  } catch (...) {
    keep_failure(branches.failed);
  }
  end_failed(lane, branches, at, joined, order);
}

/// Ends the values that have not been taken: the move of one may throw.
template <class Branches>
struct values_left {
  Branches& all;
  std::size_t taken = 0;
  values_left(const values_left&) = delete;
  values_left& operator=(const values_left&) = delete;
  explicit values_left(Branches& of) : all(of) {}
  ~values_left() {
    std::size_t at = 0;
    const auto end_one = [&](auto& b) {
      if (at++ >= taken && b.end == fork_branch::fate::done) b.discard();
    };
    std::apply([&](auto&... b) { (end_one(b), ...); }, all);
  }

  template <std::size_t I>
  [[nodiscard]] decltype(auto) take() {
    taken = I + 1;
    return std::get<I>(all).take_or_nothing();
  }
};

/// Branches that have all stored what came of them: their values, or their first exception.
template <class... F, std::size_t... I>
auto results_of(std::tuple<branch<F>...>& all, std::index_sequence<I...>) -> fork_results<F...> {
  const bool has_thrown = ((std::get<I>(all).end == fork_branch::fate::threw) || ...);
  if (has_thrown) {
    ending e;
    (e.add(std::get<I>(all)), ...);
    e.rethrow_if_any();
  }
  if constexpr (!all_are_void<F...>) {
    values_left<std::tuple<branch<F>...>> values(all);
    return fork_results<F...>{values.template take<I>()...};
  }
}

/// Branches none of which has run are all skipped.
template <class... F>
void skip_all(std::tuple<branch<F>...>& all) noexcept {
  std::apply([](auto&... b) { ((b.end = fork_branch::fate::skipped), ...); }, all);
}

/// The values that a cancellation has left out are made here, until a branch throws; then what came of all.
template <class... F>
auto results_with_missing(std::tuple<branch<F>...>& all) -> fork_results<F...> {
  const auto has_thrown = [](const auto&... b) { return ((b.end == fork_branch::fate::threw) || ...); };
  const auto make = [&](auto& b) {
    if (!std::apply(has_thrown, all)) b.run_if_missing();
  };
  std::apply([&](auto&... b) { (make(b), ...); }, all);
  return results_of(all, std::index_sequence_for<F...>());
}

/// On another libtbb.so.12: all branches by parallel_invoke().
/// Branches come by value: a reference to them would keep them in memory where this is never called.
template <class... F, std::size_t... I>
[[gnu::noinline, gnu::cold]] auto fork_on_stock(std::index_sequence<I...>, F... f) -> fork_results<F...> {
  std::tuple<branch<F>...> all(std::forward<F>(f)...);
  skip_all(all);
  std::atomic<bool> has_thrown{false};
  const auto run = [&has_thrown](auto& b) {
    // relaxed: a hint; parallel_invoke() joins all.
    if (has_thrown.load(std::memory_order_relaxed)) return;
    b.run_and_store();
    if (b.end == fork_branch::fate::threw) has_thrown.store(true, std::memory_order_relaxed);  // relaxed: as above
  };
  if constexpr (sizeof...(F) > 1) {
    tbb::parallel_invoke([&run, &b = std::get<I>(all)] { run(b); }...);
  } else if (!tbb::is_current_task_group_canceling()) {
    (run(std::get<I>(all)), ...);
  }
  return results_with_missing(all);
}

}  // namespace homing::detail
