/// A loop's range cut along a distribution: parts with one home each, in order.
///
/// Source: TBB-NUMA 4.5 and figure 8 (homes of subranges).
#pragma once

#include <homing/distribution.hpp>
#include <homing/tasks.hpp>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/blocked_range2d.h>
#include <oneapi/tbb/blocked_range3d.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace homing::detail {

/// How a range of oneTBB's lies in a distribution's index space.
template <class Range>
struct loop_space {};

template <std::integral Value>
[[nodiscard]] constexpr std::size_t position_of(Value v) noexcept {
  if constexpr (std::signed_integral<Value>)
    expects(v >= 0, "parallel loop", "indices of a distribution are not negative");
  return static_cast<std::size_t>(v);
}

template <std::integral Value>
struct loop_space<tbb::blocked_range<Value>> {
  using range = tbb::blocked_range<Value>;
  static constexpr std::size_t dims = 1;
  [[nodiscard]] static box<1> box_of(const range& r) noexcept {
    return interval(position_of(r.begin()), position_of(r.end()));
  }
  [[nodiscard]] static std::array<std::size_t, 1> grains_of(const range& r) noexcept { return {r.grainsize()}; }
  [[nodiscard]] static range part(const range& of, const box<1>& b) {
    return range(static_cast<Value>(b.first[0]), static_cast<Value>(b.last[0]), of.grainsize());
  }
};

template <std::integral Row, std::integral Column>
struct loop_space<tbb::blocked_range2d<Row, Column>> {
  using range = tbb::blocked_range2d<Row, Column>;
  static constexpr std::size_t dims = 2;
  [[nodiscard]] static box<2> box_of(const range& r) noexcept {
    return {{position_of(r.rows().begin()), position_of(r.cols().begin())},
            {position_of(r.rows().end()), position_of(r.cols().end())}};
  }
  [[nodiscard]] static std::array<std::size_t, 2> grains_of(const range& r) noexcept {
    return {r.rows().grainsize(), r.cols().grainsize()};
  }
  [[nodiscard]] static range part(const range& of, const box<2>& b) {
    return range(static_cast<Row>(b.first[0]), static_cast<Row>(b.last[0]), of.rows().grainsize(),
                 static_cast<Column>(b.first[1]), static_cast<Column>(b.last[1]), of.cols().grainsize());
  }
};

template <std::integral Page, std::integral Row, std::integral Column>
struct loop_space<tbb::blocked_range3d<Page, Row, Column>> {
  using range = tbb::blocked_range3d<Page, Row, Column>;
  static constexpr std::size_t dims = 3;
  [[nodiscard]] static box<3> box_of(const range& r) noexcept {
    return {{position_of(r.pages().begin()), position_of(r.rows().begin()), position_of(r.cols().begin())},
            {position_of(r.pages().end()), position_of(r.rows().end()), position_of(r.cols().end())}};
  }
  [[nodiscard]] static std::array<std::size_t, 3> grains_of(const range& r) noexcept {
    return {r.pages().grainsize(), r.rows().grainsize(), r.cols().grainsize()};
  }
  [[nodiscard]] static range part(const range& of, const box<3>& b) {
    return range(static_cast<Page>(b.first[0]), static_cast<Page>(b.last[0]), of.pages().grainsize(),
                 static_cast<Row>(b.first[1]), static_cast<Row>(b.last[1]), of.rows().grainsize(),
                 static_cast<Column>(b.first[2]), static_cast<Column>(b.last[2]), of.cols().grainsize());
  }
};

template <class Range>
concept distributable_range = requires { loop_space<Range>::dims; };

/// Where no distribution is asked, for the same answer to the same mistake as where one is.
template <distributable_range Range>
void expect_indices(const Range& range) noexcept {
  static_cast<void>(loop_space<Range>::box_of(range));
}

/// A distribution for ranges of this kind, and no partitioner.
template <class Dist, class Range>
concept distribution_for = distributable_range<Range> && distribution_over<Dist, loop_space<Range>::dims>;

/// Base of what stands for a distribution or a partitioner, to be chosen at run time: choose(f) calls f with it.
struct run_time_choice {};
template <class How>
concept chosen_at_run_time = std::derived_from<How, run_time_choice>;

template <class T, class... Kinds>
concept one_of = (std::same_as<std::remove_cvref_t<T>, Kinds> || ...);

/// Neither a loop's distribution nor its partitioner: what stands behind them in some calls.
template <class T>
concept loop_context = one_of<T, tbb::task_group_context>;

/// What oneTBB's functions take as one of these partitioners: also a class derived from it, or what converts to it.
template <class How, class... Partitioners>
concept partitioner_among = (std::is_convertible_v<How&, Partitioners> || ...);

/// What a loop takes in the distribution's place.
template <class How>
concept loop_partitioner = partitioner_among<How, const tbb::auto_partitioner&, const tbb::simple_partitioner&,
                                             const tbb::static_partitioner&, tbb::affinity_partitioner&>;
/// What a scan does.
template <class How>
concept scan_partitioner = partitioner_among<How, const tbb::auto_partitioner&, const tbb::simple_partitioner&>;
/// What a deterministic reduction does.
template <class How>
concept deterministic_partitioner =
    partitioner_among<How, const tbb::simple_partitioner&, const tbb::static_partitioner&>;
/// An affinity_partitioner that is const, also behind std::cref.
template <class How>
concept constant_affinity_partitioner = std::is_convertible_v<How&, const tbb::affinity_partitioner&> &&
                                        !std::is_convertible_v<How&, tbb::affinity_partitioner&>;
template <class How>
concept distribution_somewhere = distribution_over<How, 1> || distribution_over<How, 2> || distribution_over<How, 3>;

/// For a call that is neither with a fitting distribution nor with a schedule: false, and the compiler says what is
/// wrong, unless `How` is a partitioner.
template <class Range, class How>
[[nodiscard]] consteval bool expect_partitioner() {
  constexpr bool is_distribution = distribution_somewhere<std::remove_cvref_t<How>>;
  static_assert(!is_distribution || distributable_range<Range>,
                "a distribution needs a tbb::blocked_range, blocked_range2d or blocked_range3d of integers (and an "
                "array or span that carries one is not given another)");
  static_assert(!is_distribution || !distributable_range<Range>,
                "the distribution has another number of dimensions than the range");
  static_assert(is_distribution || !constant_affinity_partitioner<How>,
                "an affinity_partitioner learns: it must not be const");
  static_assert(is_distribution || constant_affinity_partitioner<How> || loop_partitioner<How>,
                "`how` is no partitioner of oneTBB's, no homing::schedule and no distribution, which has a member "
                "std::optional<domain_index> home(const box<Dims>&) const");
  return loop_partitioner<How>;
}

/// Points are counted up to this: sums and differences of two such counts don't overflow.
inline constexpr std::size_t points_most = SIZE_MAX / 8;

template <std::size_t Dims>
[[nodiscard]] constexpr std::size_t points_in(const box<Dims>& b) noexcept {
  if (b.empty()) return 0;
  std::size_t count = 1;
  for (std::size_t k = 0; k < Dims; ++k) {
    if (__builtin_mul_overflow(count, b.last[k] - b.first[k], &count)) return points_most;
    count = std::min(count, points_most);
  }
  return count;
}

/// Leaves the first left / (left + right) of a divisible range in it, as nearly as can be, and returns the rest.
/// Neither is empty. As oneTBB does, it cuts across the dimension with most grains; not by tbb::proportional_split,
/// which is for nearly equal halves, and counts in floats.
template <class Range>
[[nodiscard]] Range split_off(Range& range, std::size_t left, std::size_t right) {
  using space = loop_space<Range>;
  const auto all = space::box_of(range);
  const auto grains = space::grains_of(range);
  const auto length = [&all](std::size_t k) { return all.last[k] - all.first[k]; };
  std::size_t along = 0;
  for (std::size_t k = 1; k < space::dims; ++k) {
    const bool is_longer = static_cast<double>(length(along)) * static_cast<double>(grains[k]) <
                           static_cast<double>(length(k)) * static_cast<double>(grains[along]);
    if (is_longer) along = k;
  }
  // Where the sum is the length, as along one dimension, exactly; else a product of both may be too large for integers.
  const double share = static_cast<double>(left) / (static_cast<double>(left) + static_cast<double>(right));
  const std::size_t wanted =
      length(along) == left + right ? left : static_cast<std::size_t>(static_cast<double>(length(along)) * share);
  const std::size_t middle = all.first[along] + std::clamp<std::size_t>(wanted, 1, length(along) - 1);
  auto first = all, second = all;
  first.last[along] = second.first[along] = middle;
  const Range rest = space::part(range, second);
  range = space::part(range, first);
  return rest;
}

template <class Range>
struct loop_part {
  Range range;
  place where;
};

template <class Range>
using loop_parts = std::vector<loop_part<Range>>;

/// How often a part is halved so that its pieces have about `size` points.
[[nodiscard]] constexpr unsigned halvings(std::size_t points, std::size_t size) noexcept {
  return points <= size ? 0 : static_cast<unsigned>(std::bit_width((points - 1) / size));
}

/// Points for each task of a loop over `points`, so that each thread gets some: as oneTBB's auto_partitioner begins.
[[nodiscard]] inline std::size_t points_a_task(std::size_t points) noexcept {
  constexpr std::size_t tasks_a_thread = 4;
  const auto threads = static_cast<std::size_t>(std::max(1, tbb::this_task_arena::max_concurrency()));
  return std::max<std::size_t>(1, points / (threads * tasks_a_thread));
}

/// Where the part ends of what comes before `last` that the distribution knows of.
template <class Dist>
[[nodiscard]] std::size_t reach_of(const Dist& dist, std::size_t last) {
  if constexpr (requires { dist.size(); }) {
    return std::min<std::size_t>(last, dist.size());
  } else {
    return last;
  }
}

/// Appends the parts of `range` that have one home each, in the order of the range, longest possible. Those that the
/// distribution gives no home to, or does not reach, go nowhere in particular. False if it stopped because there would
/// be more than `parts_max` that it does reach.
template <class Range, class Dist>
  requires(loop_space<Range>::dims == 1)
[[nodiscard]] bool cut_up_to(const Range& range, const Dist& dist, loop_parts<Range>& parts, std::size_t parts_max) {
  using space = loop_space<Range>;
  const box<1> all = space::box_of(range);
  const std::size_t reach = reach_of(dist, all.last[0]);
  std::size_t at = all.first[0];
  while (at < reach) {
    if (parts.size() == parts_max) return false;
    const piece p = run_at(dist, at, reach);
    parts.push_back({space::part(range, interval(at, p.last)), on(p.home)});
    at = p.last;
  }
  if (at < all.last[0]) parts.push_back({space::part(range, interval(at, all.last[0])), place()});
  return true;
}

/// The same, however many.
template <class Range, class Dist>
  requires(loop_space<Range>::dims == 1)
void cut(const Range& range, const Dist& dist, loop_parts<Range>& parts) {
  static_cast<void>(cut_up_to(range, dist, parts, SIZE_MAX));
}

/// Appends the boxes of a grid inside `all`, in the order of the domains, and what reaches beyond it as a slab for each
/// dimension, which goes nowhere in particular.
template <class Range, class Grid>
void cut_along_boxes(const Range& range, const Grid& grid, loop_parts<Range>& parts) {
  using space = loop_space<Range>;
  auto all = space::box_of(range);
  const auto add = [&](const box<space::dims>& b, place where) {
    if (!b.empty()) parts.push_back({space::part(range, b), where});
  };
  point<space::dims> reach{};  // the boxes together are one, which begins at 0
  for (std::uint32_t i = 0; i < grid.domains().size(); ++i) {
    const domain_index home = grid.domains()[i];
    grid.for_each_box(home, [&](auto b) {
      for (std::size_t k = 0; k < space::dims; ++k) {
        reach[k] = std::max(reach[k], b.last[k]);
        b.first[k] = std::max(b.first[k], all.first[k]);
        b.last[k] = std::min(b.last[k], all.last[k]);
      }
      add(b, on(home));
    });
  }
  for (std::size_t k = 0; k < space::dims; ++k) {
    auto beyond = all;
    beyond.first[k] = all.last[k] = std::clamp(reach[k], all.first[k], all.last[k]);
    add(beyond, place());
  }
}

/// A grid is cut along its boxes, others by halving until a half has a home or can't be divided; halves that have none
/// are put together again.
template <class Range, class Dist>
  requires(loop_space<Range>::dims > 1)
void cut(const Range& range, const Dist& dist, loop_parts<Range>& parts) {
  using space = loop_space<Range>;
  const auto all = space::box_of(range);
  if constexpr (requires { dist.for_each_box(domain_index{}, [](const box<space::dims>&) {}); }) {
    cut_along_boxes(range, dist, parts);
  } else if constexpr (distribution_without_homes<Dist>) {
    parts.push_back({range, place()});
  } else {
    const std::optional<domain_index> home = dist.home(all);
    if (home || !range.is_divisible()) {
      parts.push_back({range, on(home)});
      return;
    }
    const std::size_t before = parts.size();
    Range left(range);
    const Range right(left, tbb::split{});
    cut(left, dist, parts);
    cut(right, dist, parts);
    const bool is_one_each = parts.size() == before + 2;
    if (is_one_each && !parts[before].where.domain() && !parts[before + 1].where.domain()) {
      parts.pop_back();
      parts[before].range = range;
    }
  }
}

}  // namespace homing::detail
