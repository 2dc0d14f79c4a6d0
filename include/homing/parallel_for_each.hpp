/// tbb::parallel_for_each with a distribution: each element is visited where it lives.
#pragma once

#include <homing/parallel_for.hpp>

#include <oneapi/tbb/parallel_for_each.h>

#include <cstddef>
#include <iterator>
#include <ranges>

namespace homing {

/// f(element) for each element of [first, last), whose position, counted from `first`, has a home in `dist`. Random access:
/// a position must be found without walking. For lists, and for bodies that add work with a feeder, use
/// task_group::run(on(home), ...) or tbb::parallel_for_each.
///
/// Threads: any. Errors: the first exception of f.
template <std::random_access_iterator Iterator, class F, distribution_over<1> Dist>
void parallel_for_each(Iterator first, Iterator last, const F& f, const Dist& dist) {
  const auto each = [&](const tbb::blocked_range<std::size_t>& r) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) f(first[static_cast<std::iter_difference_t<Iterator>>(i)]);
  };
  if (first != last) {
    parallel_for(tbb::blocked_range<std::size_t>(0, static_cast<std::size_t>(last - first)), each, dist);
  }
}
template <std::ranges::random_access_range Elements, class F, distribution_over<1> Dist>
void parallel_for_each(Elements&& elements, const F& f, const Dist& dist) {
  parallel_for_each(std::ranges::begin(elements), std::ranges::end(elements), f, dist);
}

}  // namespace homing
