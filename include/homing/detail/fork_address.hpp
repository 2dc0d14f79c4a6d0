/// Branches with addresses: which callable has which, and a fork some of whose branches go elsewhere.
///
/// Threads:  the calling thread; branches run on any.
/// Protocol: docs/protocols/fork_lane.md [F9].
#pragma once

#include <homing/detail/fork_run.hpp>
#include <homing/tasks.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace homing::detail {

template <class A>
inline constexpr bool is_place = std::is_same_v<std::remove_cvref_t<A>, place>;

/// Callables without arguments, and nothing else.
template <class... A>
concept are_branches = (std::is_invocable_v<std::remove_reference_t<A>&> && ...);

/// Among the arguments A: where the callables are.
template <class... A>
struct branch_layout {
  static constexpr std::array<bool, sizeof...(A)> places{is_place<A>...};
  static constexpr std::size_t count = (std::size_t{!is_place<A>} + ... + 0);
  static constexpr std::array<std::size_t, count> callables = [] {
    std::array<std::size_t, count> found{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < sizeof...(A); ++i) {
      if (!places[i]) found[n++] = i;
    }
    return found;
  }();
  /// Each place has a callable behind it.
  static constexpr bool is_valid = [] {
    for (std::size_t i = 0; i < sizeof...(A); ++i) {
      if (places[i] && (i + 1 == sizeof...(A) || places[i + 1])) return false;
    }
    return count > 0;
  }();
};

/// Branches, some of which are another domain's: those are given first, the others forked, and these run first.
template <class... F>
class addressed_fork {
 public:
  explicit addressed_fork(const std::array<place, sizeof...(F)>& places, F&&... f)
      : places_(places), all_(std::forward<F>(f)...) {}

  auto run(fork_lane& lane) -> fork_results<F...> {
    constexpr auto order = std::index_sequence_for<F...>();
    const bool is_cancelled = lane.calls->is_cancelled();  // then its caller makes all values, one after another
    each(
        [&](std::size_t i, auto& b) {
          const auto domain = address_of(places_[i], "fork_join");
          is_given_[i] = !is_cancelled && domain.has_value() && domain_index{*domain} != current_domain();
          if (is_given_[i]) lane.calls->give(b, *domain);
        },
        order);
    push(lane, order);
    each(
        [&](std::size_t i, auto& b) {
          if (!is_given_[i]) end(b, lane.try_pop(b, at_[i]) || join(b, at_[i], lane), lane);
        },
        order);
    each(
        [&](std::size_t i, auto& b) {
          if (is_given_[i]) end(b, join(b, 0, lane), lane);
        },
        order);
    return results_of(all_, order);
  }

 private:
  template <class Call, std::size_t... I>
  void each(Call&& call, std::index_sequence<I...>) {
    (call(I, std::get<I>(all_)), ...);
  }
  /// The last first, so that the first is the youngest.
  template <std::size_t... I>
  void push(fork_lane& lane, std::index_sequence<I...>) {
    const auto push_one = [&](auto which) {
      constexpr std::size_t i = sizeof...(F) - 1 - decltype(which)::value;
      if (is_given_[i]) return;
      // A cancellation is asked for again when the branch would begin.
      if (!lane.push(std::get<i>(all_), at_[i])) static_cast<void>(lane.calls->pushed(lane));
    };
    (push_one(std::integral_constant<std::size_t, I>()), ...);
  }
  /// As calls->join(); once a branch has thrown, nobody will see what comes of this one.
  bool join(fork_branch& b, std::size_t at, fork_lane& lane) const noexcept {
    return has_thrown_ ? join_unwanted(lane, at, b) : lane.calls->join(lane, at, b);
  }
  template <class Branch>
  void end(Branch& b, bool is_ours, const fork_lane& lane) noexcept {
    if (is_ours) {
      if (has_thrown_ || (!Branch::has_value && lane.calls->is_cancelled())) {
        b.end = fork_branch::fate::skipped;
      } else {
        b.run_and_store();
      }
    }
    if (b.end == fork_branch::fate::threw) leave_out_rest();
  }
  /// All, before the next join: while the thread waits there, it may take another.
  void leave_out_rest() noexcept {
    has_thrown_ = true;
    each([](std::size_t, auto& b) { leave_out(b); }, std::index_sequence_for<F...>());
  }

  const std::array<place, sizeof...(F)> places_;
  std::tuple<branch<F>...> all_;
  std::array<std::size_t, sizeof...(F)> at_{};
  std::array<bool, sizeof...(F)> is_given_{};
  bool has_thrown_ = false;  ///< a branch, as far as they are joined: those that have not begun are left out
};

/// The arguments of fork_join() with addresses among them.
template <class... A, std::size_t... I>
auto fork_with_addresses(std::index_sequence<I...> order, std::tuple<A&&...>&& arguments) {
  using layout = branch_layout<A...>;
  static_assert(layout::is_valid, "fork_join: an address comes before its branch, and each branch has one at most");
  fork_lane* const lane = lane_of_caller();
  if (lane == nullptr) {
    return fork_on_stock<std::tuple_element_t<layout::callables[I], std::tuple<A...>>...>(
        order, std::get<layout::callables[I]>(std::move(arguments))...);
  }
  const auto place_of = [&](auto which) -> place {
    constexpr std::size_t at = layout::callables[decltype(which)::value];
    if constexpr (at > 0) {
      if constexpr (layout::places[at - 1]) return std::get<at - 1>(arguments);
    }
    return {};
  };
  addressed_fork<std::tuple_element_t<layout::callables[I], std::tuple<A...>>...> fork(
      {place_of(std::integral_constant<std::size_t, I>())...}, std::get<layout::callables[I]>(std::move(arguments))...);
  return fork.run(*lane);
}

/// What fork_join() with these arguments gives in a group that was cancelled before: branches with a value run.
template <class... A, std::size_t... I>
auto make_values_only(std::index_sequence<I...>, std::tuple<A&&...>&& arguments) {
  using layout = branch_layout<A...>;
  std::tuple<branch<std::tuple_element_t<layout::callables[I], std::tuple<A...>>>...> all(
      std::get<layout::callables[I]>(std::move(arguments))...);
  skip_all(all);
  return results_with_missing(all);
}

}  // namespace homing::detail
