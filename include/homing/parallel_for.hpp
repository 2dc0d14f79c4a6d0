/// Loops whose iterations run where their data is: tbb::parallel_for with a distribution in the partitioner's place.
///
///   const homing::regular_distribution rows = homing::block(row_count);
///   homing::parallel_for(tbb::blocked_range<std::size_t>(0, row_count), sweep, rows);      // or any partitioner
///
/// Subranges with one home are sent to it whole, those of other domains first and the caller's own last; below that
/// they are split among the domain's threads. A thread without work takes what it finds, nearest first.
///
/// Source: TBB-NUMA 4.4.3, 4.5, figures 8 and 11.
#pragma once

#include <homing/detail/loop_parts.hpp>

#include <oneapi/tbb/parallel_for.h>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {
namespace detail {

/// A part of a loop: halves itself `depth` times, and once more each time it is taken by another thread than it was
/// made for, so that work which is not even finds threads.
template <class Range, class Body>
class loop_task final : public counted_task<loop_task<Range, Body>> {
 public:
  loop_task(const task_dues& dues, const Range& range, place where, unsigned depth, const Body& body, loop_join& join)
      : counted_task<loop_task>(dues), range_(range), where_(where), depth_(depth), body_(body), join_(join) {}

  static void send(const Range& range, place where, unsigned depth, const Body& body, loop_join& join) {
    hand_over(make_counted<loop_task>(&join.wait(), range, where, depth, body, join),
              [&](d1::task& t) { spawn(where, t, join.context()); });
  }

  void run(const d1::execution_data& ed) {
    if (d1::is_stolen(ed)) ++depth_;
    for (; depth_ != 0 && range_.is_divisible(); --depth_) {
      const Range right(range_, tbb::split{});
      send(right, where_, depth_ - 1, body_, join_);
    }
    body_(std::as_const(range_));
  }

 private:
  Range range_;
  place where_;
  unsigned depth_;
  const Body& body_;
  loop_join& join_;
};

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
      if (p.home == home_) body_(loop_space<Range>::part(of_, interval(at, p.last)));
      at = p.last;
    }
  }

 private:
  const Range& of_;
  const Body& body_;
  const Dist& dist_;
  std::optional<domain_index> home_;
};

/// True if a loop over that many pieces is better sent domain by domain.
[[nodiscard]] constexpr bool is_scattered(std::size_t pieces, std::size_t domains) noexcept {
  return pieces > 32 * domains;
}

template <class Range, class Dist>
[[nodiscard]] bool has_many_pieces(const Range& range, const Dist& dist) {
  const box<1> all = loop_space<Range>::box_of(range);
  const std::size_t reach = reach_of(dist, all.last[0]);
  std::size_t pieces = 0;
  for (std::size_t at = all.first[0]; at < reach; at = run_at(dist, at, reach).last) {
    if (is_scattered(++pieces, domain_count())) return true;
  }
  return false;
}

template <class Range, class Body, class Dist>
void run_scattered(const Range& range, const Body& body, const Dist& dist, tbb::task_group_context& context) {
  using positions = tbb::blocked_range<std::size_t>;
  using body_type = scattered_loop<Range, Body, Dist>;
  const box<1> all = loop_space<Range>::box_of(range);
  const std::size_t reach = reach_of(dist, all.last[0]);
  std::vector<body_type> bodies;
  std::vector<loop_part<positions>> parts;
  for (std::uint32_t d = 0; d < domain_count(); ++d) {
    bodies.emplace_back(range, body, dist, domain_index{d});
    parts.push_back({positions(all.first[0], reach), on(d)});
  }
  if constexpr (std::same_as<Dist, regular_distribution<1>>) {
    for (std::uint32_t i = 0; i < dist.domains().size(); ++i) expect_domain(dist.domains()[i]);
  } else {  // what has no home
    bodies.emplace_back(range, body, dist, std::nullopt);
    parts.push_back({positions(all.first[0], reach), place()});
  }
  loop_join join(context);
  join.run([&] {
    if (reach < all.last[0]) {
      loop_task<Range, Body>::send(loop_space<Range>::part(range, interval(reach, all.last[0])), place(), 0, body,
                                   join);
    }
    // Each domain goes over all positions, and has its share of them to do: so many times longer are its tasks.
    const std::size_t count = reach - all.first[0];
    const unsigned depth = halvings(count, points_a_task(count) * domain_count());
    send_away_first(parts, [&](const loop_part<positions>& p) {
      const auto i = static_cast<std::size_t>(&p - parts.data());
      loop_task<positions, body_type>::send(p.range, p.where, depth, bodies[i], join);
    });
  });
}

template <class Range, class Body, class Dist>
void run_loop(const Range& range, const Body& body, const Dist& dist, tbb::task_group_context& context) {
  if constexpr (loop_space<Range>::dims == 1) {
    if (has_many_pieces(range, dist)) {
      run_scattered(range, body, dist, context);
      return;
    }
  }
  std::vector<loop_part<Range>> parts;
  cut(range, dist, parts);
  const std::size_t size = points_a_task(points_in(loop_space<Range>::box_of(range)));
  loop_join join(context);
  join.run([&] {
    send_away_first(parts, [&](const loop_part<Range>& p) {
      const unsigned depth = halvings(points_in(loop_space<Range>::box_of(p.range)), size);
      loop_task<Range, Body>::send(p.range, p.where, depth, body, join);
    });
  });
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
      tbb::parallel_for(range, body, tbb::static_partitioner{},
                        context);  // who says where data is means to find it there
    } else {
      detail::run_loop(range, body, how, context);
    }
  } else if constexpr (detail::chosen_at_run_time<std::remove_cvref_t<How>>) {
    static_assert(detail::loop_space<Range>::dims == 1, "a schedule is for loops along one dimension");
    how.choose([&](auto&& chosen) { parallel_for(range, body, chosen, context); });
  } else {
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
