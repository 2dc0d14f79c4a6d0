/// tbb::parallel_for_each with a distribution, or any partitioner: each element is visited where it lives.
#pragma once

#include <homing/parallel_for.hpp>

#include <oneapi/tbb/parallel_for_each.h>

#include <cstddef>
#include <iterator>
#include <ranges>

namespace homing {

/// f(element) for each element of [first, last). `how`, as in parallel_for: a distribution, in which an element's
/// position, counted from `first`, has its home; a partitioner; or a homing::schedule. Random access: a position must
/// be found without walking. For lists, and for bodies that add work with a feeder, use task_group::run(on(home), ...)
/// or tbb::parallel_for_each.
///
/// Threads: any. Errors: the first exception of f.
template <std::random_access_iterator Iterator, class F, class How>
void parallel_for_each(Iterator first, Iterator last, const F& f, How&& how) {
  const auto each = [&](const tbb::blocked_range<std::size_t>& r) {
    for (std::size_t i = r.begin(); i != r.end(); ++i) f(first[static_cast<std::iter_difference_t<Iterator>>(i)]);
  };
  if (first != last) {
    parallel_for(tbb::blocked_range<std::size_t>(0, static_cast<std::size_t>(last - first)), each, how);
  }
}
template <std::ranges::random_access_range Elements, class F, class How>
  requires std::ranges::sized_range<Elements>
void parallel_for_each(Elements&& elements, const F& f, How&& how) {
  const auto first = std::ranges::begin(elements);
  parallel_for_each(first, first + std::ranges::distance(elements), f, how);
}

}  // namespace homing
