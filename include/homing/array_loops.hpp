/// Loops over arrays and spans that carry their distribution: each element is worked on where it lives.
///
///   homing::parallel_for(x, [](double& e) { e *= 2; });
///   homing::parallel_for(m, [&](std::size_t i, std::size_t j, double& e) { e = f(i, j); });
///   homing::parallel_for(x, [&](std::size_t first, std::span<double> run) { sweep(first, run); });
///   const double sum = homing::parallel_reduce(x, 0.0, [](double e, double so_far) { return so_far + e; },
///   std::plus<>());
///
/// The body gets, whichever it can be called with, tried in this order:
///   an element                     body(T&)
///   its index and it               body(i, T&), body(i, j, T&), body(i, j, k, T&)
///   a run of elements              body(i, ..., std::span<T>): the first one's index, and elements of one home side by
///                                  side along the last dimension: what compilers vectorise best
/// and in a reduction the value so far behind it, and returns the next. A tbb::task_group_context may come last. Where
/// nothing is addressed (one domain, another libtbb.so.12 than ours) runs end where TBB's own parts do. Who needs more
/// has the range and the distribution: parallel_for(range, body, x.distribution()).
#pragma once

#include <homing/detail/strided.hpp>
#include <homing/distribution.hpp>
#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/blocked_range2d.h>
#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/task_group.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace homing {

/// A distributed_array, a distributed_span: elements of one to three dimensions that know their homes.
template <class Data>
concept distributed_data = requires(Data& data) {
  requires std::remove_cvref_t<Data>::dims >= 1 && std::remove_cvref_t<Data>::dims <= 3;
  data.layout().data;
  { data.distribution() } -> distribution_over<std::remove_cvref_t<Data>::dims>;
};

namespace detail {

template <std::size_t Dims>
[[nodiscard]] auto range_over(const point<Dims>& extents) {
  using index = std::size_t;
  if constexpr (Dims == 1) {
    return tbb::blocked_range<index>(0, extents[0]);
  } else if constexpr (Dims == 2) {
    return tbb::blocked_range2d<index>(0, extents[0], 0, extents[1]);
  } else {
    return tbb::blocked_range3d<index>(0, extents[0], 0, extents[1], 0, extents[2]);
  }
}

/// True if F can be called with `Dims` indices and then arguments.
template <std::size_t Dims, class F, class... Arguments>
inline constexpr bool takes_index = []<std::size_t... K>(std::index_sequence<K...>) {
  return std::invocable<F, decltype((static_cast<void>(K), std::size_t{}))..., Arguments...>;
}(std::make_index_sequence<Dims>());

/// F is a body for elements of T. A concept: what comes after a match is not asked of a body that takes anything.
template <class F, std::size_t Dims, class T, class... Value>
concept loop_body = std::invocable<F, T&, Value...> || takes_index<Dims, F, T&, Value...> ||
                    takes_index<Dims, F, std::span<T>, Value...>;

/// Calls `body` for a run, element by element if that is what it takes. `values...` is nothing, or the value so far,
/// which each call gets and returns.
template <std::size_t Dims, class T, class Body, class... Value>
void call_for_run(const Body& body, point<Dims> at, std::span<T> run, Value&... value) {
  static_assert(sizeof...(Value) <= 1);
  constexpr bool is_const_body = loop_body<const Body&, Dims, T, Value...>;
  if constexpr (!is_const_body) {
    constexpr bool is_mutable_body = loop_body<Body&, Dims, T, Value...>;
    static_assert(!is_mutable_body,
                  "the body can't be called as a const object, as loops do: a lambda must not be `mutable`");
    static_assert(is_mutable_body,
                  "the body takes neither an element, nor an index and an element, nor an index and a std::span (and "
                  "in a reduction the value so far behind it)");
  }
  const auto keep = [&](auto&& call) {
    if constexpr (sizeof...(Value) == 0) {
      call();
    } else {
      constexpr bool has_result = !std::is_void_v<decltype(call())>;
      static_assert(has_result, "a reduction's body returns the value so far, this element's or run's included");
      if constexpr (has_result) ((value = call()), ...);
    }
  };
  if constexpr (std::invocable<const Body&, T&, Value...>) {
    for (T& element : run) keep([&]() -> decltype(auto) { return body(element, std::move(value)...); });
  } else if constexpr (takes_index<Dims, const Body&, T&, Value...>) {
    for (T& element : run) {
      keep([&]() -> decltype(auto) { return call_at<Dims>(body, at, element, std::move(value)...); });
      ++at[Dims - 1];
    }
  } else if constexpr (is_const_body) {
    keep([&]() -> decltype(auto) { return call_at<Dims>(body, at, run, std::move(value)...); });
  }
}

}  // namespace detail

/// Calls the body for all elements, at their homes. Array, distribution and body are used by reference until all have
/// ended. Whoever cancels the context, if one is given, leaves elements out.
///
/// Threads: any. Errors: the first exception of the body; as homing::parallel_for().
template <distributed_data Data, class Body>
void parallel_for(Data&& data, const Body& body, tbb::task_group_context& context) {
  constexpr std::size_t dims = std::remove_cvref_t<Data>::dims;
  const auto on = data.layout();
  const auto range = detail::range_over<dims>(on.extents);
  const auto visit = [&](const auto& part) {
    on.for_each_run(detail::loop_space<std::remove_cvref_t<decltype(part)>>::box_of(part),
                    [&](const point<dims>& at, auto run) { detail::call_for_run<dims>(body, at, run); });
  };
  homing::parallel_for(range, visit, data.distribution(), context);
}
template <distributed_data Data, class Body>
void parallel_for(Data&& data, const Body& body) {
  tbb::task_group_context context;
  homing::parallel_for(std::forward<Data>(data), body, context);  // not the one of the context's own namespace
}

/// The elements' values, joined by `reduction` as homing::parallel_reduce() joins them, each part computed at its home;
/// `identity` begins each part. If the context is cancelled, a part of them.
///
/// Threads: any. Errors: as homing::parallel_reduce().
template <distributed_data Data, class Value, class Body, class Reduction>
[[nodiscard]] Value parallel_reduce(Data&& data, const Value& identity, const Body& body, const Reduction& reduction,
                                    tbb::task_group_context& context) {
  constexpr std::size_t dims = std::remove_cvref_t<Data>::dims;
  const auto on = data.layout();
  const auto range = detail::range_over<dims>(on.extents);
  const auto add_up = [&](const auto& part, Value value) {
    on.for_each_run(detail::loop_space<std::remove_cvref_t<decltype(part)>>::box_of(part),
                    [&](const point<dims>& at, auto run) { detail::call_for_run<dims>(body, at, run, value); });
    return value;
  };
  return homing::parallel_reduce(range, identity, add_up, reduction, data.distribution(), context);
}
template <distributed_data Data, class Value, class Body, class Reduction>
[[nodiscard]] Value parallel_reduce(Data&& data, const Value& identity, const Body& body, const Reduction& reduction) {
  tbb::task_group_context context;
  return homing::parallel_reduce(std::forward<Data>(data), identity, body, reduction, context);
}

}  // namespace homing
