// The code of docs/guide/arrays.md, compiled and run, on a made-up machine of four nodes (tests/tidy/snippets.py holds
// page and program together).
#include <homing/array_loops.hpp>
#include <homing/distributed_array.hpp>
#include <homing/schedule.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "unit/common/own_process.hpp"

namespace {

using homing::testing::in_own_process;
using homing::testing::on_machine;

TEST(guide, arrays_and_loops) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    const std::size_t n = 100'000;
    homing::distributed_array<double> x(n);  // zeros, in blocks over all domains
    homing::distributed_array<double> y(n, homing::from_index([](std::size_t i) { return std::sqrt(i); }));

    homing::parallel_for(x, [&](std::size_t i, double& e) { e += 2 * y[i]; });  // each where it lives
    const double sum = homing::parallel_reduce(
        x, 0.0, [](double e, double so_far) { return so_far + e; }, std::plus<>());

    double expected = 0;
    for (const double e : y) expected += 2 * e;
    EXPECT_NEAR(sum, expected, 1e-6 * expected);

    if (!x.placement().complete()) std::puts(x.placement().describe().c_str());  // what was asked, placed and refused
    const double share = x.verify().share_at_home();                             // what is true now
    EXPECT_EQ(share, 1.0);
  });
}

TEST(guide, matrices) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    homing::distributed_array<double, 2> m({500, 400});  // blocks of whole rows
    m(3, 4) = 1;
    homing::parallel_for(
        m, [](std::size_t i, std::size_t j, std::span<double> run) {  // a run along row i, from column j on
          for (double& e : run) e += static_cast<double>(i + j++);
        });
    auto inner = m.view().subview({{1, 1}, {499, 399}});  // has the homes that its elements have in m
    homing::parallel_for(inner, [](double& e) { e = -e; });

    EXPECT_EQ(m(3, 4), -8);
    EXPECT_EQ(m(0, 5), 5);
  });
}

TEST(guide, memory_of_others) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    std::vector<float> samples(1'000'000);
    homing::distributed_span s(samples, homing::block(samples.size()));
    homing::placed_range placed = s.enforce();  // moves the pages; keep it as long as the data
    homing::parallel_for(s, [](float& e) { e += 1; });

    EXPECT_EQ(samples.back(), 1);
    EXPECT_TRUE(placed.report().complete());
  });
}

TEST(guide, pages_at_the_borders) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    homing::distributed_array<float> whole_pages(homing::page_blocks<float>(1'000'000));
    homing::array_options options;
    options.refusal = homing::on_refusal::fail;  // then ask ok()
    options.pages = homing::page_kind::huge;     // ask for transparent huge pages
    homing::distributed_array<float> strict(1'000'000, homing::uninitialized, options);
    if (!strict.ok()) std::puts(strict.placement().describe().c_str());

    EXPECT_EQ(whole_pages.placement().mixed, 0U);
    EXPECT_TRUE(strict.ok());
  });
}

TEST(guide, one_call_for_both) {
  in_own_process(on_machine("node:4 core:2 pu:1"), [] {
    std::vector<int> seen(1000);
    const auto sweep = [&](const tbb::blocked_range<std::size_t>& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) ++seen[i];
    };
    const bool use_numa = homing::domain_count() > 1;
    auto rows = homing::block(seen.size());
    tbb::affinity_partitioner ap;
    homing::parallel_for(tbb::blocked_range<std::size_t>(0, seen.size()), sweep,
                         use_numa ? homing::schedule(rows) : ap);

    EXPECT_EQ(seen, std::vector<int>(1000, 1));
  });
}

}  // namespace
