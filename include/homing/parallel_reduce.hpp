/// Reductions whose parts are computed where their data is: tbb::parallel_reduce with a distribution in the
/// partitioner's place.
///
/// Source: TBB-NUMA 4.4.3, 4.5.
#pragma once

#include <homing/detail/chunk_fold.hpp>

#include <oneapi/tbb/parallel_reduce.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {
namespace detail {

/// Appends the pieces into which `range` falls by halving, `depth` times at most.
template <class Range>
void halve(const Range& range, place where, unsigned depth, loop_parts<Range>& out) {
  if (depth == 0 || !range.is_divisible()) {
    out.push_back({range, where});
    return;
  }
  Range left(range);
  const Range right(left, tbb::split{});
  halve(left, where, depth - 1, out);
  halve(right, where, depth - 1, out);
}

/// The parts of a reduction or scan, as cut() orders them. `size`: points of each, about; 0: what the grainsize
/// says.
template <class Range, class Dist>
[[nodiscard]] loop_parts<Range> reduction_parts(const Range& range, const Dist& dist, std::size_t size) {
  loop_parts<Range> whole;
  cut(range, dist, whole);
  loop_parts<Range> parts;
  for (const auto& p : whole) {
    const unsigned depth = size == 0 ? ~0U : halvings(points_in(loop_space<Range>::box_of(p.range)), size);
    halve(p.range, p.where, depth, parts);
  }
  return parts;
}

/// The values of all parts, joined from the left in their order.
template <class Range, class Value, class Body, class Reduction>
[[nodiscard]] Value reduce_parts(const loop_parts<Range>& parts, const Value& identity, const Body& body,
                                 const Reduction& reduction, tbb::task_group_context& context) {
  std::vector<std::optional<Value>> values(parts.size());
  run_parts<Range>(parts, context, [&](std::size_t i) { values[i].emplace(body(parts[i].range, Value(identity))); });
  Value result(identity);
  for (std::optional<Value>& v : values) {
    if (v) result = reduction(std::move(result), *std::move(v));  // none: cancelled
  }
  return result;
}

}  // namespace detail

/// As tbb::parallel_reduce(range, identity, body, reduction, context); `how` is a distribution over the range's index
/// space, any of oneTBB's partitioners, or a homing::schedule. With a distribution, body gets subranges with one home
/// each. Along one dimension the results are joined in the order of the range; along more, in no order of its points,
/// so reduction must be commutative. Memory: a Value, on a cache line of its own, for each thread and each piece; so no
/// distribution with very many pieces (cyclic).
///
/// Threads: any. Errors: what tbb::parallel_reduce throws; std::bad_alloc. Cancelled, it returns a part of the result.
template <class Range, class Value, class Body, class Reduction, class How>
[[nodiscard]] Value parallel_reduce(const Range& range, const Value& identity, const Body& body,
                                    const Reduction& reduction, How&& how, tbb::task_group_context& context) {
  if constexpr (detail::distribution_for<std::remove_cvref_t<How>, Range>) {
    if (range.empty()) return identity;
    if (domain_count() == 1) {
      detail::expect_indices(range);
      return tbb::parallel_reduce(range, identity, body, reduction, context);
    }
    detail::loop_parts<Range> parts;
    parts.reserve(domain_count());
    detail::cut(range, how, parts);
    const auto step = [&body](std::uint32_t, const Range& r, Value v) { return body(r, std::move(v)); };
    detail::chunk_fold<Range, Value, decltype(step), Reduction> fold(parts, detail::cutting::anywhere, identity, step,
                                                                     reduction, context);
    fold.run();
    return fold.take();
  } else if constexpr (detail::chosen_at_run_time<std::remove_cvref_t<How>>) {
    static_assert(detail::loop_space<Range>::dims == 1, "a schedule is for loops along one dimension");
    return how.choose(
        [&](auto&& chosen) -> Value { return parallel_reduce(range, identity, body, reduction, chosen, context); });
  } else if constexpr (detail::expect_partitioner<Range, How>()) {
    return tbb::parallel_reduce(range, identity, body, reduction, how, context);
  }
}
template <class Range, class Value, class Body, class Reduction, class How>
  requires(!detail::loop_context<How>)
[[nodiscard]] Value parallel_reduce(const Range& range, const Value& identity, const Body& body,
                                    const Reduction& reduction, How&& how) {
  tbb::task_group_context context;
  return parallel_reduce(range, identity, body, reduction, how, context);
}

/// As tbb::parallel_deterministic_reduce: how the range is split and joined depends on the range, its grainsize and the
/// distribution alone, never on threads or time; so floating-point sums come out the same each time. oneTBB's has
/// simple_partitioner and static_partitioner; a homing::schedule of another one means the first. Memory: with a
/// distribution, a Value and some 80 bytes for each piece of about a grainsize, so give the range a large one.
template <class Range, class Value, class Body, class Reduction, class How>
[[nodiscard]] Value parallel_deterministic_reduce(const Range& range, const Value& identity, const Body& body,
                                                  const Reduction& reduction, How&& how,
                                                  tbb::task_group_context& context) {
  if constexpr (detail::distribution_for<std::remove_cvref_t<How>, Range>) {
    if (range.empty()) return identity;
    // Also with one domain, and on other libraries: where the pieces end is part of the result.
    return detail::reduce_parts(detail::reduction_parts(range, how, 0), identity, body, reduction, context);
  } else if constexpr (detail::chosen_at_run_time<std::remove_cvref_t<How>>) {
    static_assert(detail::loop_space<Range>::dims == 1, "a schedule is for loops along one dimension");
    return how.choose([&](auto&& chosen) -> Value {
      if constexpr (detail::one_of<decltype(chosen), tbb::affinity_partitioner, tbb::auto_partitioner>) {
        return tbb::parallel_deterministic_reduce(range, identity, body, reduction, context);
      } else {
        return homing::parallel_deterministic_reduce(range, identity, body, reduction, chosen, context);
      }
    });
  } else if constexpr (detail::expect_partitioner<Range, How>()) {
    static_assert(detail::deterministic_partitioner<How>,
                  "oneTBB's deterministic reductions have simple_partitioner and static_partitioner only");
    if constexpr (detail::deterministic_partitioner<How>) {
      return tbb::parallel_deterministic_reduce(range, identity, body, reduction, how, context);
    }
  }
}
template <class Range, class Value, class Body, class Reduction, class How>
[[nodiscard]] Value parallel_deterministic_reduce(const Range& range, const Value& identity, const Body& body,
                                                  const Reduction& reduction, How&& how) {
  tbb::task_group_context context;
  return parallel_deterministic_reduce(range, identity, body, reduction, how, context);
}

}  // namespace homing
