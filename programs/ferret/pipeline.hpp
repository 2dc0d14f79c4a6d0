// The stages as TBB's filters; the index is the variant's.
#pragma once

#include <oneapi/tbb/parallel_pipeline.h>

#include "../common/parts.hpp"
#include "problem.hpp"

namespace ferret {

using index_filter = tbb::filter<item*, item*>;

/// Takes some queries through all stages, with so many under way at a time.
inline void run_pipeline(problem& p, const programs::interval& queries, const index_filter& index, std::size_t tokens) {
  using tbb::filter_mode;
  std::size_t next = queries.first;
  const auto loading =
      tbb::make_filter<void, item*>(filter_mode::serial_in_order, [&](tbb::flow_control& control) -> item* {
        if (next == queries.last) {
          control.stop();
          return nullptr;
        }
        return new item(p.load(next++));
      });
  const auto segmenting = tbb::make_filter<item*, item*>(filter_mode::parallel, [](item* i) {
    problem::segment(*i);
    return i;
  });
  const auto extracting = tbb::make_filter<item*, item*>(filter_mode::parallel, [](item* i) {
    problem::extract(*i);
    return i;
  });
  const auto ranking = tbb::make_filter<item*, void>(filter_mode::serial_in_order, [&p](item* i) {
    p.rank(*i);
    delete i;
  });
  tbb::parallel_pipeline(tokens, loading & segmenting & extracting & index & ranking);
}

/// One stage that queries the entire index.
[[nodiscard]] inline index_filter whole_index(const problem& p) {
  return tbb::make_filter<item*, item*>(tbb::filter_mode::parallel, [&p](item* i) {
    p.query(*i);
    return i;
  });
}

}  // namespace ferret
