/// Property: STREAM's check accepts what the kernels leave, for every choice of kernels, and rejects a single wrong
/// element, a lost kernel, a lost round and a NaN. Method: the kernels on small arrays, then one thing made wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "measure/kernels.hpp"
#include "measure/stream.hpp"
#include "measure/stream_check.hpp"

namespace homing::measure {
namespace {

constexpr std::size_t elements = 1000;

struct small_arrays {
  std::vector<double> a = std::vector<double>(elements);
  std::vector<double> b = std::vector<double>(elements);
  std::vector<double> c = std::vector<double>(elements);

  stream_part part(std::size_t first = 0, std::size_t last = elements) {
    return {a.data(), b.data(), c.data(), first, last};
  }
  void run(std::span<const kernel> kernels, std::size_t rounds) {
    fill(part());
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const kernel k : kernels) run_kernel(k, part());
    }
  }
  std::optional<std::string> check(std::span<const kernel> kernels, std::size_t rounds) {
    stream_errors errors;
    errors.look_at(part(), expected_values(kernels, rounds));
    return errors.verdict();
  }
};

// The kernels whose bits are set.
std::vector<kernel> chosen(unsigned choice) {
  std::vector<kernel> kernels;
  for (unsigned k = 0; k < all_kernels.size(); ++k) {
    if ((choice >> k & 1U) != 0) kernels.push_back(all_kernels[k]);
  }
  return kernels;
}

TEST(kernels, do_what_stream_says) {
  small_arrays x;
  fill(x.part());
  for (std::size_t i = 0; i < elements; ++i) x.a[i] = static_cast<double>(i);
  run_kernel(kernel::copy, x.part(1, 999));
  EXPECT_EQ(x.c[998], 998);
  EXPECT_EQ(x.c[0], initial_c) << "outside the part";
  EXPECT_EQ(x.c[999], initial_c) << "outside the part";
  run_kernel(kernel::scale, x.part());
  EXPECT_EQ(x.b[500], stream_scalar * 500);
  run_kernel(kernel::add, x.part());
  EXPECT_EQ(x.c[500], 500 + stream_scalar * 500);
  run_kernel(kernel::triad, x.part());
  EXPECT_EQ(x.a[500], x.b[500] + stream_scalar * x.c[500]);
}

TEST(kernels, count_bytes_as_stream_does) {
  EXPECT_EQ(bytes_per_element(kernel::copy), 16U);
  EXPECT_EQ(bytes_per_element(kernel::scale), 16U);
  EXPECT_EQ(bytes_per_element(kernel::add), 24U);
  EXPECT_EQ(bytes_per_element(kernel::triad), 24U);
}

TEST(stream_check, accepts_right_results_of_any_choice_of_kernels) {
  for (unsigned choice = 1; choice < 16; ++choice) {
    const std::vector<kernel> kernels = chosen(choice);
    for (const std::size_t rounds : {1U, 2U, 11U, 1000U}) {
      small_arrays x;
      x.run(kernels, rounds);
      EXPECT_EQ(x.check(kernels, rounds), std::nullopt) << choice << ", " << rounds;
    }
  }
}

TEST(stream_check, stays_in_range_for_the_most_rounds_of_any_choice) {
  for (unsigned choice = 1; choice < 16; ++choice) {
    const stream_values v = expected_values(chosen(choice), rounds_max);
    for (const double value : {v.a, v.b, v.c}) {
      EXPECT_TRUE(value == 0 || (value > 1e-200 && value < 1e200)) << choice << ": " << value;
    }
  }
}

TEST(stream_check, rejects_one_wrong_element_of_each_array) {
  for (int array = 0; array < 3; ++array) {
    for (const double factor : {1 + 1e-12, 0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      small_arrays x;
      x.run(all_kernels, 11);
      double& one = (array == 0 ? x.a : array == 1 ? x.b : x.c)[777];
      one *= factor;
      const auto verdict = x.check(all_kernels, 11);
      ASSERT_TRUE(verdict) << array << ", " << factor;
      EXPECT_NE(verdict->find(std::string("array ") + "abc"[array]), std::string::npos) << *verdict;
      EXPECT_NE(verdict->find("1 of 1000 elements are wrong; element 777"), std::string::npos) << *verdict;
    }
  }
}

TEST(stream_check, rejects_a_kernel_left_out_and_a_part_left_out) {
  for (const kernel lost : stream_kernels) {  // read leaves nothing
    small_arrays x;
    fill(x.part());
    for (const kernel k : all_kernels) run_kernel(k, x.part(0, k == lost ? elements - 1 : elements));
    EXPECT_TRUE(x.check(all_kernels, 1)) << name_of(lost);
  }
  small_arrays x;
  fill(x.part());
  EXPECT_TRUE(x.check(all_kernels, 1)) << "nothing was run";
}

TEST(stream_check, rejects_a_round_too_few_and_one_too_many) {
  small_arrays x;
  x.run(all_kernels, 11);
  EXPECT_FALSE(x.check(all_kernels, 11));
  EXPECT_TRUE(x.check(all_kernels, 10));
  EXPECT_TRUE(x.check(all_kernels, 12));
}

TEST(stream_check, adds_up_parts_and_says_when_there_was_nothing_to_check) {
  small_arrays x;
  x.run(all_kernels, 3);
  x.b[900] = 17;
  const stream_values expected = expected_values(all_kernels, 3);
  stream_errors first;
  stream_errors second;
  first.look_at(x.part(0, 500), expected);
  second.look_at(x.part(500, elements), expected);
  stream_errors all;
  EXPECT_TRUE(all.verdict());
  all.merge(first);
  EXPECT_FALSE(all.verdict());
  all.merge(second);
  ASSERT_TRUE(all.verdict());
  EXPECT_NE(all.verdict()->find("1 of 1000 elements are wrong; element 900 holds 17"), std::string::npos);
}

TEST(stream, measures_every_kernel_of_every_round_on_memory_that_it_looked_up) {
  const stream_group group{{cpu_id{0}, cpu_id{0}, cpu_id{0}}, node_index{0}, 100000};
  const stream_result r = measure_stream({{group, group}, {kernel::copy, kernel::triad}, 4, page_wish::system});
  ASSERT_EQ(r.mb_per_s.size(), 2U);
  for (const spread& s : r.mb_per_s) {
    ASSERT_EQ(s.samples.size(), 4U);
    EXPECT_GT(s.min, 0);
    EXPECT_LE(s.min, s.median);
    EXPECT_LE(s.median, s.max);
  }
  EXPECT_EQ(r.wrong, std::nullopt);
  EXPECT_GE(r.memory.bytes, 2U * 3 * 100000);
}

}  // namespace
}  // namespace homing::measure
