// Arrays and spans with a distribution: pages are at home, made there, counted honestly and given back without a trace.
// Method: a kernel of four nodes that is made up and may refuse, made-up machines, and the real kernel behind a filter.
#include <homing/distributed_array.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <ranges>
#include <set>
#include <stdexcept>
#include <vector>

#include "unit/common/fake_memory.hpp"
#include "unit/common/placement_fixture.hpp"
#include "unit/common/sandbox.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

domain_index domain(std::size_t i) { return static_cast<domain_index>(i); }

struct machine_for_a_while {
  explicit machine_for_a_while(const topology::snapshot& m) { topology::set_current(m); }
  explicit machine_for_a_while(const char* text)
      : machine_for_a_while(topology::make_snapshot(topology::testing::synthetic(text))) {}
  machine_for_a_while(const machine_for_a_while&) = delete;
  machine_for_a_while& operator=(const machine_for_a_while&) = delete;
  ~machine_for_a_while() { topology::refresh(); }
};

static_assert(std::contiguous_iterator<distributed_array<int>::iterator>);
static_assert(std::ranges::contiguous_range<distributed_array<int, 2>>);
static_assert(std::is_convertible_v<distributed_array<int>&, std::span<int>>);
static_assert(std::is_convertible_v<const distributed_array<int>&, std::span<const int>>);
static_assert(std::is_convertible_v<distributed_array<int>&, distributed_span<const int>>);
static_assert(!std::is_convertible_v<const distributed_array<int>&, distributed_span<int>>);
static_assert(std::is_nothrow_move_constructible_v<distributed_array<int>>);
static_assert(std::is_nothrow_move_assignable_v<distributed_array<int>>);
static_assert(!std::is_copy_constructible_v<distributed_array<int>>);
static_assert(!std::is_copy_assignable_v<distributed_array<int>>);
static_assert(!std::ranges::range<distributed_span<int, 2>>, "its elements may be apart");
static_assert(!std::is_constructible_v<distributed_array<std::string>, std::size_t, uninitialized_t>);

// --- a kernel of four nodes ------------------------------------------------------------------------------

class on_four_nodes : public ::testing::Test {
 protected:
  on_four_nodes() {
    platform::stand_in_for_page_calls(&fake);
    platform::stand_in_for_address_space(&fake);
  }
  ~on_four_nodes() override {
    platform::stand_in_for_page_calls(nullptr);
    platform::stand_in_for_address_space(nullptr);
  }
  [[nodiscard]] std::size_t pages_with_policy() const {
    return static_cast<std::size_t>(std::count_if(fake.pages.begin(), fake.pages.end(), [](const auto& p) {
      return p.mode != platform::policy_mode::system_default;
    }));
  }

  fake_memory fake{8};
  machine_for_a_while machine{four_real_nodes()};
};

// Fills a page, which its making touches: the fake can't see who writes.
struct page_of_values {
  static inline fake_memory* kernel = nullptr;
  static inline std::mutex lock;
  static inline std::optional<int> lands_on;  // whatever the policy says
  page_of_values() {
    const std::lock_guard hold(lock);
    const std::size_t p = (reinterpret_cast<address>(this) - kernel->first) / fake_kernel::page;
    kernel->fake_kernel::touch(p, p + 1, 0);
    if (lands_on) kernel->pages[p].node = *lands_on;
  }
  std::array<char, fake_kernel::page> values{};
};

TEST_F(on_four_nodes, untouched_pages_have_the_policy_of_their_home) {
  const distributed_array<double> x(64 * 512, uninitialized);
  EXPECT_TRUE(x.ok());
  expect_adds_up(x.placement());
  EXPECT_EQ(x.placement().asked, 64U);
  EXPECT_EQ(x.placement().later, 64U);
  for (std::size_t i = 0; i < x.size(); i += 512) {
    EXPECT_EQ(fake.policy_of(&x[i]), std::vector<int>{static_cast<int>(i / 512 / 16)});
    EXPECT_EQ(fake.state_of(&x[i]).node, fake_kernel::untouched);
  }
  EXPECT_EQ(x.verify().untouched, 64U);
}

TEST_F(on_four_nodes, pages_are_at_home_when_their_elements_are_made) {
  page_of_values::kernel = &fake;
  const distributed_array<page_of_values> x(40);
  expect_adds_up(x.placement());
  EXPECT_EQ(x.placement().placed, 40U);
  EXPECT_EQ(x.placement().later, 0U);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(fake.state_of(&x[i]).node, static_cast<int>(i / 10));
  EXPECT_EQ(x.verify().at_home, 40U);
  EXPECT_EQ(x.verify().share_at_home(), 1.0);
}

TEST_F(on_four_nodes, what_was_freed_has_no_policy) {
  {
    distributed_array<double> x(64 * 512, uninitialized);
    distributed_array<double> y(100000);
    EXPECT_GT(pages_with_policy(), 64U);
    x = std::move(y);
    EXPECT_TRUE(y.empty());
    EXPECT_EQ(fake.mapped_bytes(), (100000 * sizeof(double) + 4095) / 4096 * 4096) << "the old memory goes at once";
  }
  EXPECT_EQ(fake.mapped_bytes(), 0U);
  EXPECT_EQ(pages_with_policy(), 0U);
}

TEST_F(on_four_nodes, a_sandbox_makes_threads_of_the_home_touch) {
  fake.mbind_errno = fake.move_errno = EPERM;
  const distributed_array<double> x(64 * 512, uninitialized);
  expect_adds_up(x.placement());
  EXPECT_TRUE(x.placement().by_copying);
  EXPECT_EQ(x.placement().refused.size(), 0U) << x.placement().describe();
  EXPECT_EQ(std::set<int>(fake.copied_by.begin(), fake.copied_by.end()), (std::set<int>{0, 1, 2, 3}));
  for (std::size_t i = 0; i < x.size(); i += 512) {
    EXPECT_EQ(fake.state_of(&x[i]).node, static_cast<int>(i / 512 / 16));
  }
}

TEST_F(on_four_nodes, what_is_refused_is_told_and_the_elements_are_there) {
  page_of_values::kernel = &fake;
  fake.mbind_errno = fake.move_errno = EPERM;
  fake.bind_errno = EINVAL;
  const distributed_array<page_of_values> x(40);
  EXPECT_TRUE(x.ok()) << "degraded, as asked";
  expect_adds_up(x.placement());
  EXPECT_FALSE(x.placement().complete());
  EXPECT_EQ(refused(x.placement(), refusal_cause::not_permitted) + refused(x.placement(), refusal_cause::not_exclusive),
            30U)
      << x.placement().describe();
  EXPECT_EQ(x[39].values[7], 0);

  const distributed_array<page_of_values> y(40, {.refusal = on_refusal::fail});
  EXPECT_FALSE(y.ok());
  EXPECT_FALSE(y.placement().complete());
  EXPECT_EQ(pages_with_policy(), 0U);
  EXPECT_EQ(y[39].values[7], 0);
}

TEST_F(on_four_nodes, a_full_node_is_told_when_the_elements_are_there) {
  page_of_values::kernel = &fake;
  page_of_values::lands_on = 0;  // the kernel's fallback
  fake.free_on_1 = 10 + 4;       // the first ten go to the touches, which land elsewhere all the same
  const distributed_array<page_of_values> x(40);
  page_of_values::lands_on.reset();
  expect_adds_up(x.placement());
  EXPECT_EQ(x.placement().placed, 34U);
  EXPECT_EQ(refused(x.placement(), refusal_cause::no_memory), 6U) << x.placement().describe();
  EXPECT_EQ(x.verify().away, 6U);
}

TEST_F(on_four_nodes, pages_that_others_moved_are_brought_back) {
  page_of_values::kernel = &fake;
  distributed_array<page_of_values> x(40);
  for (auto& p : fake.pages) p.node = 3;
  EXPECT_EQ(x.verify().away, 30U);
  EXPECT_EQ(x.enforce().moved, 30U);
  EXPECT_EQ(x.verify().away, 0U);
  EXPECT_GT(pages_with_policy(), 0U) << "placing again keeps the policy";
}

TEST_F(on_four_nodes, huge_pages_are_asked_for_and_blocks_can_have_their_grain) {
  const auto by_huge_page = page_blocks<double>(4 * 16 * 512 + 5, domain_set::all(), fake_kernel::huge);
  const distributed_array<double> x(by_huge_page, uninitialized, {.pages = page_kind::huge});
  EXPECT_EQ(reinterpret_cast<address>(x.data()) % fake_kernel::huge, 0U);
  EXPECT_EQ(fake.advised_huge, 5 * fake_kernel::huge);
  EXPECT_EQ(x.placement().asked, 5 * 16U) << "the end of the last page belongs to it";
  EXPECT_EQ(x.placement().mixed, 0U);
}

TEST_F(on_four_nodes, no_memory_is_an_exception) {
  fake.map_errno = ENOMEM;
  EXPECT_THROW(distributed_array<double>(1000), std::bad_alloc);
  EXPECT_EQ(distributed_array<double>(0).data(), nullptr) << "none is needed";
}

// --- making elements -------------------------------------------------------------------------------------

struct counted {
  static inline std::atomic<long> alive{0};
  static inline std::atomic<long> made{0};
  static inline std::atomic<long> fails_at{-1};
  counted() {
    if (made.fetch_add(1) == fails_at) throw std::runtime_error("an element");
    alive.fetch_add(1);
  }
  explicit counted(std::size_t i) : counted() { value = i; }
  counted(const counted&) = delete;
  ~counted() { alive.fetch_sub(1); }
  std::size_t value = 0;
};

template <class Make>
void expect_all_or_nothing(std::size_t size, const Make& make) {
  for (const std::size_t fails_at : {std::size_t{0}, size / 2, size - 1, size}) {
    counted::made = 0;
    counted::fails_at = static_cast<long>(fails_at);
    if (fails_at < size) {
      EXPECT_THROW(make(), std::runtime_error);
    } else {
      const auto x = make();
      EXPECT_EQ(counted::alive, static_cast<long>(size));
      EXPECT_EQ(counted::made, static_cast<long>(size)) << "each once";
    }
    EXPECT_EQ(counted::alive, 0);
  }
}

TEST(distributed_array, a_constructor_that_throws_leaves_nothing) {
  for (const char* const text : {"node:1 core:4 pu:1", "node:4 core:2 pu:1"}) {
    const machine_for_a_while machine(text);
    for (const std::size_t size : {std::size_t{1}, std::size_t{50000}}) {
      expect_all_or_nothing(size, [&] { return distributed_array<counted>(size); });
      expect_all_or_nothing(size, [&] {
        return distributed_array<counted>(block_cyclic(size, 3), from_index([](std::size_t i) { return i; }));
      });
    }
  }
}

TEST_F(on_four_nodes, a_constructor_that_throws_gives_the_pages_back) {
  counted::made = 0;
  counted::fails_at = 12345;
  EXPECT_THROW(distributed_array<counted>(50000), std::runtime_error);
  EXPECT_EQ(fake.mapped_bytes(), 0U);
  EXPECT_EQ(pages_with_policy(), 0U);
}

TEST(distributed_array, threads_of_its_home_make_each_element) {
  const machine_for_a_while machine("node:4 core:2 pu:1");
  const std::size_t n = 30000;
  for (const auto& d : {block(n), cyclic(n), block_cyclic(n, 100, {domain(2), domain(0)})}) {
    const distributed_array<domain_index> made_in(d,
                                                  from_index([](std::size_t) { return topology::current_domain(); }));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(made_in[i], d.home_of(i)) << i;
  }
}

TEST(distributed_array, elements_are_a_function_of_their_index) {
  for (const char* const text : {"node:1 core:4 pu:1", "node:3 core:2 pu:1"}) {
    const machine_for_a_while machine(text);
    const distributed_array<std::size_t> x(100, from_index([](std::size_t i) { return 3 * i; }));
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(x[i], 3 * i);
    const point<3> extents{30, 41, 53};
    const distributed_array<std::size_t, 3> z(
        block_grid<3>(extents, domain_set::all()),
        from_index([](std::size_t i, std::size_t j, std::size_t k) { return i * 10000 + j * 100 + k; }));
    EXPECT_EQ(z.extents(), extents);
    for (std::size_t i = 0; i < 30; ++i) {
      for (std::size_t j = 0; j < 41; ++j) {
        const auto row = z.row(i, j);
        ASSERT_EQ(row.size(), 53U);
        for (std::size_t k = 0; k < 53; ++k) {
          ASSERT_EQ(z(i, j, k), i * 10000 + j * 100 + k);
          ASSERT_EQ(&row[k], &z[(point<3>{i, j, k})]);
        }
      }
    }
    EXPECT_EQ(*z.begin(), 0U);
    EXPECT_EQ(z.end()[-1], 294052U);
  }
}

// --- edges -----------------------------------------------------------------------------------------------

TEST(distributed_array, of_nothing_or_of_little) {
  const machine_for_a_while machine("node:4 core:2 pu:1");
  distributed_array<double> none(0);
  EXPECT_TRUE(none.empty() && none.begin() == none.end() && none.ok());
  EXPECT_EQ(none.placement().asked, 0U);
  EXPECT_EQ(none.verify().asked, 0U);
  EXPECT_EQ(none.enforce().asked, 0U);
  const distributed_array<double> made_of_nothing;
  EXPECT_TRUE(made_of_nothing.empty());
  const distributed_array<double, 2> flat({0, 7});
  EXPECT_TRUE(flat.empty());
  const distributed_array<double, 2> empty_rows({7, 0});
  EXPECT_TRUE(empty_rows.row(3).empty());

  const distributed_array<double> one(1);
  EXPECT_EQ(one[0], 0.0);
  EXPECT_EQ(one.placement().placed, 1U);
  const distributed_array<int> fewer_than_domains(3);
  EXPECT_EQ(std::accumulate(fewer_than_domains.begin(), fewer_than_domains.end(), 0), 0);
  EXPECT_EQ(fewer_than_domains.placement().asked, 1U);
  EXPECT_EQ(fewer_than_domains.placement().mixed, 1U);
}

TEST(distributed_array, of_elements_larger_than_a_page) {
  const machine_for_a_while machine("node:4 core:2 pu:1");
  struct large {
    std::array<char, 10000> bytes;
  };
  const distributed_array<large> x(8);
  EXPECT_EQ(x.placement().asked, 20U);
  EXPECT_EQ(x.verify().at_home, 20U);
  EXPECT_EQ(x.verify().mixed, 3U) << "20000 bytes a domain end inside a page, three times";
  EXPECT_EQ(where(memory_range(std::span(&x[7], 1))).on(node_id{3}), where(memory_range(std::span(&x[7], 1))).pages);
}

TEST(distributed_array, of_elements_aligned_beyond_pages) {
  struct alignas(16384) wide {
    char byte;
  };
  const distributed_array<wide> x(5);
  for (const wide& w : x) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&w) % 16384, 0U);
}

TEST(distributed_array, of_more_than_can_be) {
  EXPECT_THROW(distributed_array<double>(SIZE_MAX / 2), std::bad_array_new_length);
  EXPECT_THROW((distributed_array<char, 2>({SIZE_MAX, SIZE_MAX})), std::bad_array_new_length);
  EXPECT_THROW((distributed_array<char, 3>({SIZE_MAX / 4, 3, 2}, uninitialized)), std::bad_array_new_length);
  EXPECT_THROW(distributed_array<char>(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_TRUE((distributed_array<char, 3>({SIZE_MAX, SIZE_MAX, 0}).empty()));
}

TEST(distributed_array, errors_of_the_programmer) {
  const machine_for_a_while machine("node:2 core:1 pu:1");
  EXPECT_DEATH((distributed_array<int>(7, block(8))), "the distribution has other extents than the array");
  EXPECT_DEATH((distributed_array<int, 2>({7, 8}, block<2>({8, 7}, domain_set::all()))), "other extents");
  EXPECT_DEATH(distributed_array<int>(block(100000, {domain(7)})),
               "names a domain that the current machine does not have");
}

// --- places ----------------------------------------------------------------------------------------------

TEST(distributed_array, pages_at_a_border_are_mixed_unless_blocks_are_whole_pages) {
  const machine_for_a_while machine("node:4 core:2 pu:1");
  const distributed_array<double> even(10000);
  EXPECT_EQ(even.placement().mixed, 3U);
  const distributed_array<double> whole(page_blocks<double>(10000));
  EXPECT_EQ(whole.placement().mixed, 0U);
  EXPECT_EQ(whole.size(), 10000U);
  struct odd {
    std::array<char, 24> bytes;
  };
  const distributed_array<odd> threes(page_blocks<odd>(10000));
  EXPECT_EQ(threes.placement().mixed, 0U);
  const distributed_array<double, 2> rows(page_blocks<double, 2>({100, 96}));
  EXPECT_EQ(rows.placement().mixed, 0U);
  EXPECT_EQ(rows.distribution().along(0).run_end(0), 32U) << "16 rows are 3 pages";
  EXPECT_EQ(rows.distribution().along(1).parts(), 1U);
}

TEST(distributed_array, keeps_its_memory_when_moved) {
  const machine_for_a_while machine("node:2 core:1 pu:1");
  distributed_array<double> x(5000);
  x[4999] = 7;
  const double* const data = x.data();
  distributed_array<double> y = std::move(x);
  EXPECT_TRUE(x.empty() && x.data() == nullptr && x.verify().asked == 0);
  EXPECT_EQ(y.data(), data);
  EXPECT_EQ(y.verify().at_home, 10U) << "the book still knows";
  x = std::move(y);
  EXPECT_EQ(x[4999], 7);
  EXPECT_EQ(x.placement().placed, 10U);
  std::vector<distributed_array<double>> many;
  for (int i = 0; i < 20; ++i) many.emplace_back(5000);
  for (const auto& a : many) EXPECT_EQ(a.verify().at_home, 10U);
}

TEST(distributed_array, the_book_forgets_what_is_freed) {
  const machine_for_a_while machine("node:2 core:1 pu:1");
  double* data = nullptr;
  {
    distributed_array<double> x(5000);
    data = x.data();
  }
  EXPECT_EQ(where({data, 40000}).unknown, 10U);
}

// The homes of a triangle's rows, some of them without: a distribution of the user's own.
struct diagonal {
  [[nodiscard]] std::optional<domain_index> home(const box<2>& part) const {
    if (part.last[0] <= 10) return domain(0);
    if (part.first[0] >= 10 && part.last[0] <= 20 && part.first[1] >= 500) return domain(1);
    return std::nullopt;
  }
};

TEST(distributed_array, takes_any_distribution) {
  const machine_for_a_while machine("node:2 core:1 pu:1");
  const distributed_array<double, 2, diagonal> x(
      {30, 1000}, {}, from_index([](std::size_t i, std::size_t j) { return static_cast<double>(i * 1000 + j); }));
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.begin()[i], static_cast<double>(i));
  EXPECT_GT(x.placement().without_home, 15U);
  EXPECT_GT(x.placement().placed, 20U);
  EXPECT_EQ(x.verify().away, 0U);
}

TEST(distributed_array, works_behind_a_filter_that_refuses_all) {
  if (!two_node_claim::is_possible()) GTEST_SKIP() << "needs CPUs 0 and 1, and one node";
  in_sandbox(docker, [](int) {
    const two_node_claim machine;
    const distributed_array<double> x(50000, from_index([](std::size_t i) { return static_cast<double>(i); }));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<double>(i));
    expect_adds_up(x.placement());
    EXPECT_FALSE(x.placement().complete()) << "node 1 does not exist";
    EXPECT_TRUE(x.placement().by_copying);
    const distributed_array<double> y(50000, {.refusal = on_refusal::fail});
    EXPECT_FALSE(y.ok());
  });
}

TEST(distributed_array, begins_empty_also_without_a_default_constructor) {
  struct number {
    explicit number(std::size_t i) : value(i) {}
    std::size_t value;
  };
  distributed_array<number> x;
  EXPECT_TRUE(x.empty());
  x = distributed_array<number>(10, from_index([](std::size_t i) { return number(i); }));
  EXPECT_EQ(x[9].value, 9U);
}

TEST(distributed_array, costs_nothing_with_one_node) {
  if (topology::current().memory_node_count() != 1) GTEST_SKIP() << "needs a computer with one node";
  distributed_array<double> x(100000, from_index([](std::size_t) { return static_cast<double>(::gettid()); }));
  EXPECT_TRUE(x.placement().one_node && x.placement().complete());
  EXPECT_EQ(std::set<double>(x.begin(), x.end()).size(), 1U) << "no thread was made";
  const std::string policy = list(x.view().elements()).policy;
  EXPECT_TRUE(policy == "default" || policy.empty()) << policy << "; none: it is one mapping with its neighbour";
}

}  // namespace
