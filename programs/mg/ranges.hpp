// TBB's ranges over a level's points.
#pragma once

#include <oneapi/tbb/blocked_range3d.h>

#include "problem.hpp"

namespace mg {

using range = tbb::blocked_range3d<std::size_t>;

/// Whole rows, of planes first..last-1, cut by planes and by rows.
[[nodiscard]] inline range planes_of(const level& l, std::size_t first, std::size_t last) {
  return {first, last, 1, 0, l.side, l.rows_a_task(), 0, l.side, l.side};
}
[[nodiscard]] inline range all_of(const level& l) { return planes_of(l, 0, l.side); }
[[nodiscard]] inline box<3> box_of(const range& r) {
  return {{r.pages().begin(), r.rows().begin(), r.cols().begin()}, {r.pages().end(), r.rows().end(), r.cols().end()}};
}

/// f(box), counted.
template <class F>
auto counted(const level& l, const range& r, const F& f) {
  const box<3> part = box_of(r);
  programs::count_work(l.homes, part);
  return f(part);
}

}  // namespace mg
