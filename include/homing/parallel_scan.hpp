/// Prefix sums over data that is spread: tbb::parallel_scan with a distribution in the partitioner's place.
///
/// Source: TBB-NUMA 4.5.
#pragma once

#include <homing/parallel_reduce.hpp>

#include <oneapi/tbb/parallel_scan.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {

/// As tbb::parallel_scan(range, identity, scan, reverse_join); `how` is a distribution over the range's index space,
/// one of the partitioners that oneTBB has for scans (auto_partitioner, simple_partitioner), or a homing::schedule,
/// which runs with auto_partitioner if it is of another one. With a distribution, scan(subrange, before, is_final) gets
/// subranges with one home each, every one of them once with is_final, and all but the first and the last also without,
/// at the same home if that can be. Returns the whole range's sum. One dimension.
///
/// Threads: any. Errors: what tbb::parallel_scan throws; std::bad_alloc.
template <class Range, class Value, class Scan, class ReverseJoin, class How>
Value parallel_scan(const Range& range, const Value& identity, const Scan& scan, const ReverseJoin& reverse_join,
                    How&& how) {
  if constexpr (detail::distribution_for<std::remove_cvref_t<How>, Range>) {
    static_assert(detail::loop_space<Range>::dims == 1, "a scan goes along one dimension");
    if (range.empty()) return identity;
    if (domain_count() == 1) {
      detail::expect_indices(range);
      return tbb::parallel_scan(range, identity, scan, reverse_join);
    }
    const std::size_t points = detail::points_in(detail::loop_space<Range>::box_of(range));
    const auto parts = detail::reduction_parts(range, how, detail::points_a_task(points));
    tbb::task_group_context context;
    std::vector<std::optional<Value>> sums(parts.size());  // of the parts, then up to and with them
    // The first part has nothing before it: its first pass is its last.
    detail::run_parts<Range>(parts, context, [&](std::size_t i) {
      if (i == 0 || i + 1 < parts.size()) sums[i].emplace(scan(parts[i].range, Value(identity), i == 0));
    });
    if (context.is_group_execution_cancelled()) return identity;
    for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
      auto joined = static_cast<Value>(reverse_join(*sums[i - 1], *sums[i]));  // which may return one of them
      sums[i].emplace(std::move(joined));
    }
    detail::run_parts<Range>(parts, context, [&](std::size_t i) {
      if (i != 0) {
        Value end = scan(parts[i].range, Value(*sums[i - 1]), true);
        if (i + 1 == parts.size()) sums[i].emplace(std::move(end));
      }
    });
    return sums.back() ? *std::move(sums.back()) : identity;
  } else if constexpr (detail::chosen_at_run_time<std::remove_cvref_t<How>>) {
    return how.choose([&](auto&& chosen) -> Value {
      if constexpr (detail::one_of<decltype(chosen), tbb::affinity_partitioner, tbb::static_partitioner>) {
        return tbb::parallel_scan(range, identity, scan, reverse_join);
      } else {
        return homing::parallel_scan(range, identity, scan, reverse_join, chosen);
      }
    });
  } else if constexpr (detail::expect_partitioner<Range, How>()) {
    static_assert(detail::scan_partitioner<How>, "oneTBB's scans have auto_partitioner and simple_partitioner only");
    if constexpr (detail::scan_partitioner<How>) {
      return tbb::parallel_scan(range, identity, scan, reverse_join, how);
    }
  }
}

}  // namespace homing
