/// Loops whose iterations run where their data is: tbb::parallel_for with a distribution in the partitioner's place.
///
///   const homing::regular_distribution rows = homing::block(row_count);
///   homing::parallel_for(tbb::blocked_range<std::size_t>(0, row_count), sweep, rows);      // or any partitioner
///
/// What has its home in a domain is dealt evenly to the threads there, to each the same in each loop. Where that takes
/// long, a thread that has no work left takes a part of another's, nearest first.
///
/// Source: TBB-NUMA 4.4.3, 4.5, figures 8 and 11.
#pragma once

#include <homing/detail/chunk_fold.hpp>

#include <oneapi/tbb/parallel_for.h>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {
namespace detail {

inline void expect_domain(domain_index home) noexcept {
  expects(to_index(home) < domain_count(), "parallel_for", "there is no such domain; see homing::domain_count()");
}

/// All pieces of one home inside an interval, for distributions with more pieces than a task each is worth.
template <class Range, class Body, class Dist>
class scattered_loop {
 public:
  scattered_loop(const Range& of, const Body& body, const Dist& dist, std::optional<domain_index> home)
      : of_(of), body_(body), dist_(dist), home_(home) {}
  void operator()(const tbb::blocked_range<std::size_t>& positions) const {
    for (std::size_t at = positions.begin(); at < positions.end();) {
      const piece p = run_at(dist_, at, positions.end());
      if (!home_ && p.home) expect_domain(*p.home);  // or nobody would do it
      if (p.home == home_) {
        const Range part = loop_space<Range>::part(of_, interval(at, p.last));
        body_(part);
      }
      at = p.last;
    }
  }

 private:
  const Range& of_;
  const Body& body_;
  const Dist& dist_;
  std::optional<domain_index> home_;
};

/// A loop over more pieces is better sent domain by domain.
[[nodiscard]] constexpr std::size_t pieces_max(std::size_t domains) noexcept { return 32 * domains; }

/// Apart: the memory of its plan would lie beside that of the other loops in their frames.
template <class Range, class Body, class Dist>
[[gnu::noinline]] void run_scattered(const Range& range, const Body& body, const Dist& dist,
                                     tbb::task_group_context& context) {
  using positions = tbb::blocked_range<std::size_t>;
  const box<1> all = loop_space<Range>::box_of(range);
  const std::size_t reach = reach_of(dist, all.last[0]);
  std::vector<scattered_loop<Range, Body, Dist>> bodies;  // by part
  loop_parts<positions> parts;
  const auto add = [&](std::optional<domain_index> home) {
    bodies.emplace_back(range, body, dist, home);
    parts.push_back({positions(all.first[0], reach), on(home)});
  };
  for (std::uint32_t d = 0; d < domain_count(); ++d) add(domain_index{d});
  if constexpr (std::same_as<Dist, regular_distribution<1>>) {
    for (std::uint32_t i = 0; i < dist.domains().size(); ++i) expect_domain(dist.domains()[i]);
  } else {
    add(std::nullopt);
  }
  if (reach < all.last[0]) parts.push_back({positions(reach, all.last[0]), place()});
  // Each domain goes over all positions, and has its share of them to do.
  const auto each = [&](std::uint32_t part, const positions& r) {
    if (part < bodies.size()) {
      bodies[part](r);
    } else {
      const Range beyond = loop_space<Range>::part(range, interval(r.begin(), r.end()));
      body(beyond);
    }
  };
  for_parts<positions>(parts, cutting::anywhere, each, context);
}

template <class Range, class Body, class Dist>
void run_loop(const Range& range, const Body& body, const Dist& dist, tbb::task_group_context& context) {
  loop_parts<Range> parts;
  parts.reserve(domain_count());
  if constexpr (loop_space<Range>::dims == 1) {
    if (!cut_up_to(range, dist, parts, pieces_max(domain_count()))) {
      run_scattered(range, body, dist, context);
      return;
    }
  } else {
    cut(range, dist, parts);
  }
  const auto each = [&body](std::uint32_t, const Range& r) { body(r); };
  for_parts<Range>(parts, cutting::anywhere, each, context);
}

}  // namespace detail

/// As tbb::parallel_for(range, body, context); `how` is a distribution over the range's index space, or any of oneTBB's
/// partitioners, so that one call serves both; a homing::schedule holds either.
///
/// With a distribution, body gets subranges that have one home each. The range's values are positions in the
/// distribution: integers, not negative; those beyond it, or that it gives no home to, run anywhere. Body, range and
/// distribution are used by reference until all iterations have ended. With one domain, or without our libtbb.so.12, it
/// is tbb::parallel_for with static_partitioner, which keeps each thread's part in its caches; give a partitioner where
/// work is uneven and the machine small.
///
/// Threads: any. Errors: what tbb::parallel_for throws, in particular the first exception of the body.
template <class Range, class Body, class How>
void parallel_for(const Range& range, const Body& body, How&& how, tbb::task_group_context& context) {
  if constexpr (detail::distribution_for<std::remove_cvref_t<How>, Range>) {
    if (range.empty()) return;
    if (domain_count() == 1) {
      detail::expect_indices(range);
      tbb::parallel_for(
          range, [&body](const Range& r) { body(r); }, tbb::static_partitioner{},
          context);  // who says where data is means to find it there
    } else {
      detail::run_loop(range, body, how, context);
    }
  } else if constexpr (detail::chosen_at_run_time<std::remove_cvref_t<How>>) {
    static_assert(detail::loop_space<Range>::dims == 1, "a schedule is for loops along one dimension");
    how.choose([&](auto&& chosen) { parallel_for(range, body, chosen, context); });
  } else if constexpr (detail::expect_partitioner<Range, How>()) {
    tbb::parallel_for(range, body, how, context);
  }
}
template <class Range, class Body, class How>
  requires(!std::integral<Range> && !detail::loop_context<How>)
void parallel_for(const Range& range, const Body& body, How&& how) {
  tbb::task_group_context context;
  parallel_for(range, body, how, context);
}

/// f(i) for each index first <= i < last.
template <std::integral Index, class F, class How>
void parallel_for(Index first, Index last, const F& f, How&& how) {
  const auto each = [&f](const tbb::blocked_range<Index>& r) {
    for (Index i = r.begin(); i != r.end(); ++i) f(i);
  };
  if (first < last) parallel_for(tbb::blocked_range<Index>(first, last), each, how);
}

}  // namespace homing
