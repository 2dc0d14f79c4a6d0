/// Fork and join at little more than the price of a call: values come back, and others help when they have nothing to
/// do.
///
///   long fib(int n) {
///     if (n < 2) return n;
///     const auto [left, right] = homing::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
///     return left + right;
///   }
///
/// The first branch runs at once; the others lie on the caller's stack, and it runs them itself unless another thread
/// of its arena is out of work. Until one is, nothing is shared: no locked operation, no fence, no memory. Branches
/// should capture by value: what a reference names must lie in memory, and that costs more than the fork.
///
/// On another libtbb.so.12 than ours, branches go through tbb::parallel_invoke(), and addresses mean nothing. Needs
/// oneTBB's headers, 2021.8 or later, and linking to TBB and to libhoming.
///
/// Threads: any, inside tasks of TBB's or not; branches may do all that a task may.
/// Errors:  the first exception of a branch, once all that have begun have ended; those that have not begun don't.
/// Source:  Frigo, Leiserson, Randall 1998 (the work-first principle); TBB-NUMA 4.4 (addresses).
#pragma once

#include <homing/detail/fork_address.hpp>
#include <homing/detail/fork_children.hpp>
#include <homing/detail/fork_run.hpp>
#include <homing/tasks.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_group.h>

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace homing {

/// Runs all branches, the first one here, and returns when all have ended: their values in order, as a std::tuple, void
/// ones as std::monostate; nothing if all are void. A branch is a callable without arguments; one that is passed as an
/// rvalue is moved, with its results, within the caller's frame.
///
/// Cancellation: once the group of the calling task is cancelled, branches that return nothing don't begin any more.
///               One with a value always runs, unless another has thrown.
/// Suspension:   a branch may suspend; the caller then may go on on another thread.
template <class F, class... G>
  requires(sizeof...(G) > 0 && detail::are_branches<F, G...>)
[[gnu::always_inline]] inline auto fork_join(F&& f, G&&... g) {
  detail::fork_lane* const lane = detail::lane_of_caller();
  if (__builtin_expect(lane == nullptr, false)) {
    return detail::fork_on_stock<F, G...>(std::make_index_sequence<sizeof...(G) + 1>(), std::forward<F>(f),
                                          std::forward<G>(g)...);
  }
  return detail::fork_on_lane<std::remove_reference_t<F>, G...>(*lane, std::index_sequence_for<G...>(), f,
                                                                std::forward<G>(g)...);
}

/// The same with addresses, each before its branch: fork_join(homing::on(0), f, homing::on(1), g). A branch whose home
/// is another domain than the caller's goes to that one's mailbox, where any thread of it finds it; an address is a
/// hint, as everywhere. A domain that is not there is a programmer's error.
template <class... A>
  requires(detail::is_place<A> || ...)
auto fork_join(A&&... a) {
  constexpr std::size_t count = detail::branch_layout<A...>::count;
  return detail::fork_with_addresses<A...>(std::make_index_sequence<count>(),
                                           std::forward_as_tuple(std::forward<A>(a)...));
}

/// The same as one task of the caller's group, `context`: cancelled with it, and by the first exception.
template <class... A>
auto fork_join(tbb::task_group_context& context, A&&... a) {
  using results = decltype(fork_join(std::forward<A>(a)...));
  // Kept here, too: oneTBB 2021 drops an exception that comes after a cancellation.
  std::exception_ptr thrown;
  const auto run = [&](auto&& body) {
    detail::run_in(context, [&] {
      try {
        body();
      } catch (...) {
        thrown = std::current_exception();
        throw;
      }
    });
    if (thrown != nullptr) std::rethrow_exception(std::move(thrown));
  };
  if constexpr (std::is_void_v<results>) {
    run([&] { fork_join(std::forward<A>(a)...); });
  } else {
    std::optional<results> made;
    run([&] { made.emplace(fork_join(std::forward<A>(a)...)); });
    if (made) return *std::move(made);
    // The group was cancelled before it began: values there must be all the same.
    constexpr std::size_t count = detail::branch_layout<A...>::count;
    return detail::make_values_only<A...>(std::make_index_sequence<count>(),
                                          std::forward_as_tuple(std::forward<A>(a)...));
  }
}

/// Runs body(i) for each i of [first, last), in order where nobody helps: for the children of a node, each the root of
/// a subtree. They are one entry of the caller's: whoever takes it has all that have not begun. (Many small bodies
/// without forks of their own are tbb::parallel_for()'s.)
///
/// Cancellation and exceptions: as fork_join().
template <std::integral Index, class Body>
void for_children(Index first, Index last, Body&& body) {
  if (!(first < last)) return;
  if (detail::fork_lane* const lane = detail::lane_of_caller(); lane != nullptr) {
    detail::fork_children<Index>(*lane, first, last, body);
  } else {
    // Counted from 0 on: oneTBB's loop over indices takes their difference in their own type.
    using number = std::common_type_t<std::make_unsigned_t<Index>, std::size_t>;
    const auto begin = static_cast<number>(first);
    const tbb::blocked_range<number> children(0, static_cast<number>(last) - begin);
    const auto run = [&body, begin](const tbb::blocked_range<number>& some) {
      for (number i = some.begin(); i != some.end(); ++i) body(static_cast<Index>(begin + i));
    };
    tbb::parallel_for(children, run, tbb::simple_partitioner());
  }
}

}  // namespace homing
