// Constructs whose result can be checked against a serial one: reduce, scan, sort, pipeline.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <algorithm>

#include "node.hpp"

namespace stress {
namespace {

using index_range = tbb::blocked_range<std::size_t>;

template <typename Reduce>
void check_sum(const node& n, std::size_t items, const char* name, Reduce&& reduce) {
  ledger books(items);
  std::uint64_t sum = 0;
  run_checked(n, books, name, [&] {
    sum = reduce(index_range(0, items, 2), [&](const index_range& range, std::uint64_t partial) {
      for (std::size_t i = range.begin(); i != range.end(); ++i) {
        const ledger::entry entry(books, i);
        run_node(n.child(i));
        partial += i + 1;
      }
      return partial;
    });
  });
  if (sum != items * (items + 1) / 2 && !n.may_be_incomplete()) {
    fail(std::string(name) + ": wrong sum");
  }
}

void reduce(const node& n, std::size_t items, bool deterministic) {
  if (deterministic) {
    return check_sum(n, items, "parallel_deterministic_reduce", [](auto range, auto body) {
      return tbb::parallel_deterministic_reduce(range, std::uint64_t{0}, body, std::plus<>{});
    });
  }
  check_sum(n, items, "parallel_reduce",
            [](auto range, auto body) { return tbb::parallel_reduce(range, std::uint64_t{0}, body, std::plus<>{}); });
}

void scan(const node& n, std::size_t items) {
  std::vector<std::uint64_t> prefix(items, 0);
  ledger books(items);  // the final pass runs each item once, the other at most once more
  run_checked(n, books, "parallel_scan", [&] {
    tbb::parallel_scan(
        index_range(0, items), std::uint64_t{0},
        [&](const index_range& range, std::uint64_t sum, bool is_final) {
          for (std::size_t i = range.begin(); i != range.end(); ++i) {
            sum += i * i;
            note_progress();
            if (!is_final) continue;
            const ledger::entry entry(books, i);
            prefix[i] = sum;
            if (i % 16 == 0) run_leaf(n.child(i));
          }
          return sum;
        },
        std::plus<>{});
  });
  if (n.may_be_incomplete()) return;
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < items; ++i) {
    expected += i * i;
    if (prefix[i] != expected) fail("parallel_scan: wrong prefix at " + std::to_string(i));
  }
}

void sort(const node& n, std::size_t items) {
  rng random(n.seed);
  std::vector<std::uint32_t> values(items);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random.next());
  std::vector<std::uint32_t> expected = values;
  std::sort(expected.begin(), expected.end());
  tbb::parallel_sort(values.begin(), values.end());
  note_progress();
  // A sort in a context that was cancelled may stop early, but may not lose values.
  if (n.may_be_incomplete()) std::sort(values.begin(), values.end());
  require(values == expected, "parallel_sort: not sorted, or values lost");
}

tbb::filter_mode random_mode(rng& random) {
  constexpr tbb::filter_mode modes[] = {tbb::filter_mode::parallel, tbb::filter_mode::serial_in_order,
                                        tbb::filter_mode::serial_out_of_order};
  return modes[random.below(3)];
}

/// One serial stage, and two of any kind between; the last one is in order and sees 0, 1, 2 ...
void pipeline(const node& n, std::size_t items) {
  rng random(n.seed);
  ledger first(items);
  ledger second(items);
  ledger last(items);
  std::size_t produced = 0;
  std::size_t consumed = 0;
  std::atomic<int> in_serial{0};
  const tbb::filter_mode modes[] = {random_mode(random), random_mode(random)};
  const auto source = tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order,
                                                          [&](tbb::flow_control& control) -> std::size_t {
                                                            if (produced == items) {
                                                              control.stop();
                                                              return 0;
                                                            }
                                                            note_progress();
                                                            return produced++;
                                                          });
  const auto stage = [&](ledger& books, tbb::filter_mode mode, std::size_t salt) {
    return tbb::make_filter<std::size_t, std::size_t>(mode, [&books, &n, salt](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i * 4 + salt));
      return i;
    });
  };
  const auto sink = tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, [&](std::size_t i) {
    const ledger::entry entry(last, i);
    require(in_serial.fetch_add(1, std::memory_order_relaxed) == 0, "pipeline: a serial stage ran twice at once");
    require(i == consumed++, "pipeline: an in-order stage saw an item out of order");
    in_serial.fetch_sub(1, std::memory_order_relaxed);
  });
  const auto tokens = static_cast<std::size_t>(random.between(1, 8));
  run_checked(n, last, "parallel_pipeline", [&] {
    tbb::parallel_pipeline(tokens, source & stage(first, modes[0], 1) & stage(second, modes[1], 2) & sink);
  });
  require(first.quiet() && second.quiet(), "pipeline: returned while a stage was still running");
}

}  // namespace

void fold_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  switch (random.below(5)) {
    case 0:
      return reduce(n, items, false);
    case 1:
      return reduce(n, items, true);
    case 2:
      return scan(n, items * 16);
    case 3:
      return sort(n, items);
    default:
      return sort(n, items * 500);
  }
}

void pipeline_construct(const node& n) {
  rng random(n.seed);
  pipeline(n, static_cast<std::size_t>(random.between(1, n.width)));
}

}  // namespace stress
