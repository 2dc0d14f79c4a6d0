// Spans with a distribution: every view of every box has the elements and the homes of the whole. Method: compared one
// by one on made-up machines, and the pages of somebody else's memory counted.
#include <homing/distributed_array.hpp>
#include <homing/distributed_span.hpp>

#include <array>
#include <set>
#include <vector>

#include "unit/common/placement_fixture.hpp"

namespace {
struct own_borrowed_view;
}
template <>
inline constexpr bool std::ranges::enable_borrowed_range<own_borrowed_view> = true;

namespace {

using namespace homing;
using namespace homing::testing;

domain_index domain(std::size_t i) { return static_cast<domain_index>(i); }

class distributed_span_test : public ::testing::Test {
 protected:
  distributed_span_test() {
    topology::set_current(topology::make_snapshot(topology::testing::synthetic("node:4 core:2 pu:1")));
  }
  ~distributed_span_test() override { topology::refresh(); }
};

/// As vectors of linear algebra often are: a range that converts to a pointer, too.
struct vector_and_pointer : std::vector<int> {
  vector_and_pointer() : std::vector<int>(4) {}
  operator int*() { return data(); }  // NOLINT(google-explicit-constructor)
};

/// Views of a type of somebody's own, one without and one with a word that its elements outlive it.
struct own_view {
  explicit own_view(std::vector<int>& of) : first(of.data()), last(of.data() + of.size()) {}
  [[nodiscard]] int* begin() const { return first; }
  [[nodiscard]] int* end() const { return last; }
  int* first;
  int* last;
};
struct own_borrowed_view : own_view {
  using own_view::own_view;
};

/// As lists and vectors of some libraries: its size is signed.
struct signed_list : own_view {
  using own_view::own_view;
  [[nodiscard]] int* data() const { return first; }
  [[nodiscard]] long size() const { return last - first; }
};

extern int table_of_unknown_size[];

/// Neither its address nor a comma behind it can be had by an operator.
struct guarded {
  int value = 0;
  void operator&() const = delete;
  template <class T>
  void operator,(T&&) const = delete;
};
struct guarded_distribution {
  [[nodiscard]] std::optional<domain_index> home(const box<1>& /*part*/) const { return domain(1); }
  void operator&() const = delete;
  template <class T>
  void operator,(T&&) const = delete;
};

/// All rows of a matrix in one domain, by no member but home().
struct all_rows_in_two {
  [[nodiscard]] std::optional<domain_index> home(const box<2>& /*part*/) const { return domain(2); }
};

/// Extents that are never multiplied.
struct own_extents {
  struct own_axis {
    std::size_t count;
    [[nodiscard]] std::size_t extent() const { return count; }
  };
  point<2> extents;
  [[nodiscard]] own_axis along(std::size_t k) const { return {extents[k]}; }
  [[nodiscard]] std::optional<domain_index> home(const box<2>& /*part*/) const { return domain(0); }
};

template <std::size_t Dims>
box<Dims> one(const point<Dims>& at) {
  box<Dims> b{at, at};
  for (std::size_t& last : b.last) ++last;
  return b;
}

TEST_F(distributed_span_test, places_memory_of_somebody_else) {
  own_memory pages(16);
  distributed_span bytes(pages.span(), block(pages.size()));
  static_assert(std::is_same_v<decltype(bytes), distributed_span<unsigned char>>);
  {
    const placed_range placed = bytes.enforce();
    EXPECT_EQ(placed.report().placed, 16U);
    EXPECT_EQ(bytes.verify().at_home, 16U);
    EXPECT_EQ(where(bytes.subview(0, 4 * 4096).elements()).on(node_id{0}), 4U);
  }
  EXPECT_EQ(bytes.verify().at_home, 0U) << "who holds the policy ends it";
  bytes[5] = 3;
  EXPECT_EQ(pages.data()[5], 3);
  const std::span<unsigned char> plain = bytes;
  EXPECT_EQ(plain.data(), pages.data());
  std::vector<int> few(3);
  EXPECT_DEATH(distributed_span(few, block(4)), "other extents");
  int built_in[10] = {};
  EXPECT_DEATH(distributed_span(built_in, block(20)), "other extents");
  EXPECT_DEATH(distributed_span<int>(built_in, block(20)), "other extents");
  EXPECT_DEATH(distributed_span<const int>(built_in, block(20)), "other extents");
  EXPECT_EQ(distributed_span(built_in, block(10)).data(), built_in);
  EXPECT_EQ(distributed_span(&built_in[0], block(5)).size(), 5U) << "a pointer says nothing of a size";
  const int constant[3] = {1, 2, 3};
  const distributed_span to_constant(constant, block(3));
  static_assert(std::is_same_v<decltype(to_constant), const distributed_span<const int>>);
  EXPECT_EQ(to_constant[2], 3);
  vector_and_pointer both;
  EXPECT_DEATH(distributed_span(both, block(20)), "other extents") << "it has a size of its own";
  EXPECT_EQ(distributed_span<int>(both, block(4)).data(), both.data());
  EXPECT_EQ(distributed_span(table_of_unknown_size, block(2))[1], 8);
}

TEST_F(distributed_span_test, a_built_in_array_of_several_dimensions_has_the_extents_of_its_type) {
  const auto over = domain_set::all();
  int m[4][5] = {};
  const distributed_span s(m, block<2>({4, 5}, over));
  static_assert(std::is_same_v<decltype(s), const distributed_span<int, 2>>);
  ASSERT_EQ(s.size(), 20U);
  EXPECT_EQ(s.data(), &m[0][0]);
  s(3, 4) = 7;
  EXPECT_EQ(m[3][4], 7);
  EXPECT_EQ((distributed_span<const int, 2>(m, block<2>({4, 5}, over))(3, 4)), 7);
  EXPECT_DEATH(distributed_span(m, block<2>({5, 4}, over)), "other extents");
  EXPECT_DEATH((distributed_span<int, 2>(m, block<2>({40, 50}, over))), "other extents");
  const int cube[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  EXPECT_EQ(distributed_span(cube, block<3>({2, 3, 2}, over))(1, 2, 0), 11);
  const distributed_span rows(m, block(4));
  static_assert(std::is_same_v<decltype(rows), const distributed_span<int[5]>>, "along one dimension: its rows");
  EXPECT_EQ(rows[3][4], 7);
}

TEST_F(distributed_span_test, a_matrix_in_a_range_has_elements_for_all_points) {
  const auto d = block<2>({4, 5}, domain_set::all());
  int flat[20] = {};
  int short_by_one[19] = {};
  std::vector<int> values(20);
  EXPECT_EQ(distributed_span(flat, d).data(), flat);
  EXPECT_EQ(distributed_span(values, d).row(3).data(), &values[15]);
  EXPECT_DEATH(distributed_span(short_by_one, d), "another number of points");
  EXPECT_DEATH((distributed_span<int, 2>(short_by_one, d)), "another number of points");
  EXPECT_EQ(distributed_span(&short_by_one[0], d).size(), 20U) << "a pointer says nothing of a size";
  std::vector<int> capacity(30);
  const distributed_span first_of_more(capacity, d);
  EXPECT_EQ(first_of_more.data(), capacity.data());
  EXPECT_EQ(first_of_more.extents(), (point<2>{4, 5}));
  int m[4][5] = {};
  EXPECT_DEATH(distributed_span(m[0], d), "pass the array itself, or &m\\[0\\]\\[0\\]");
  EXPECT_EQ(distributed_span(&m[0][0], d).data(), distributed_span(m, d).data());
  constexpr std::size_t half = std::size_t{1} << 32;
  EXPECT_DEATH((distributed_span<int, 2, own_extents>(flat, own_extents{{half, half}})), "more than SIZE_MAX points");
  EXPECT_EQ((distributed_span<int, 2, own_extents>(flat, own_extents{{4, 5}}).size()), 20U);
}

TEST_F(distributed_span_test, a_range_may_have_a_signed_size) {
  std::vector<int> values(20);
  signed_list list(values);
  static_assert(std::is_signed_v<decltype(std::ranges::size(list))>);
  EXPECT_EQ(distributed_span(list, block(20)).size(), 20U);
  EXPECT_EQ(&distributed_span(list, block<2>({4, 5}, domain_set::all()))(3, 4), &values[19]);
  EXPECT_DEATH(distributed_span(list, block<2>({4, 6}, domain_set::all())), "another number of points");
  EXPECT_EQ(memory_range(list).bytes(), 20 * sizeof(int));
  EXPECT_EQ(where(list).pages, where(values).pages);
  const placed_range placed = enforce(block(20), list);
  EXPECT_EQ(verify(block(20), list).edge, placed.report().edge);
}

TEST_F(distributed_span_test, an_array_of_arrays_is_a_matrix) {
  const auto d = block<2>({4, 5}, domain_set::all());
  std::array<std::array<double, 5>, 4> m{};
  const distributed_span s(m, d);
  static_assert(std::is_same_v<decltype(s), const distributed_span<double, 2>>);
  EXPECT_EQ(s.extents(), (point<2>{4, 5}));
  s(3, 4) = 7;
  EXPECT_EQ(m[3][4], 7);
  EXPECT_DEATH(distributed_span(m, block<2>({2, 10}, domain_set::all())), "other extents");
  const auto& constant = m;
  const distributed_span to_constant(constant, d);
  static_assert(std::is_same_v<decltype(to_constant), const distributed_span<const double, 2>>);
  EXPECT_EQ(to_constant(3, 4), 7);
  static_assert(!std::is_constructible_v<distributed_span<double, 2>, decltype(m), regular_distribution<2>>,
                "a temporary");
  using matrix_of_const = distributed_span<const double, 2>;
  static_assert(std::is_constructible_v<matrix_of_const, decltype(m), regular_distribution<2>>, "but for an argument");
  static_assert(std::is_constructible_v<matrix_of_const, const decltype(m), regular_distribution<2>>);
  static_assert(std::is_constructible_v<matrix_of_const, double[4][5], regular_distribution<2>>);
  static_assert(!std::is_constructible_v<distributed_span<double, 2>, double[4][5], regular_distribution<2>>);
  const auto last_of = [](matrix_of_const of) { return of(3, 4); };
  EXPECT_EQ(last_of({decltype(m){{{}, {}, {}, {0, 0, 0, 0, 5}}}, d}), 5);
  std::array<int[5], 4> mixed{};
  EXPECT_EQ(distributed_span(mixed, d).data(), &mixed[0][0]);
  std::array<std::array<double, 5>, 20> cells{};
  const distributed_span<std::array<double, 5>, 2> of_cells(cells, d);
  EXPECT_EQ(&of_cells(3, 4), &cells[19]);
  std::vector<std::array<double, 5>> more_cells(20);
  const distributed_span of_more(more_cells, d);
  static_assert(std::is_same_v<decltype(of_more), const distributed_span<std::array<double, 5>, 2>>);
  EXPECT_EQ(&of_more(3, 4), &more_cells[19]);
  std::array<double, 20> flat{};
  EXPECT_EQ(&distributed_span(flat, d)(3, 4), &flat[19]);
}

TEST_F(distributed_span_test, an_array_of_arrays_may_have_no_rows_or_nothing_in_them) {
  const auto over = domain_set{domain(0)};
  std::array<std::array<double, 5>, 0> no_rows{};
  const distributed_span s(no_rows, block<2>({0, 5}, over));
  static_assert(std::is_same_v<decltype(s), const distributed_span<double, 2>>);
  EXPECT_EQ(s.extents(), (point<2>{0, 5}));
  EXPECT_EQ(s.data(), nullptr);
  EXPECT_EQ(s.enforce().report().asked, 0U);
  std::array<std::array<double, 0>, 4> empty_rows{};
  EXPECT_EQ(distributed_span(empty_rows, block<2>({4, 0}, over)).extents(), (point<2>{4, 0}));
  EXPECT_EQ(enforce(block<2>({0, 5}, over), no_rows).report().edge, 0U);
  EXPECT_EQ(enforce(block<2>({4, 0}, over), empty_rows).report().edge, 0U);
  EXPECT_EQ(verify(block(4, over), empty_rows).edge, 0U);
  EXPECT_DEATH(distributed_span(no_rows, block<2>({0, 4}, over)), "other extents");
}

TEST_F(distributed_span_test, built_in_arrays_of_several_dimensions_are_placed) {
  alignas(4096) static unsigned char pages[8][4096];
  const auto over = domain_set::all();
  const auto grid = block<2>({8, 4096}, over);
  {
    const placed_range placed = enforce(grid, pages);
    EXPECT_EQ(placed.report().placed, 8U);
    EXPECT_EQ(verify(grid, pages).at_home, 8U);
    EXPECT_EQ(where(pages[7]).on(node_id{3}), 1U);
  }
  EXPECT_DEATH(static_cast<void>(verify(block<2>({4096, 8}, over), pages)), "other extents");
  EXPECT_DEATH(static_cast<void>(verify(block<2>({8, 4095}, over), pages)), "another size");
  EXPECT_EQ(enforce(block(8), pages).report().placed, 8U) << "rows";
  EXPECT_EQ(enforce(block(sizeof pages), pages).report().placed, 8U) << "all of their elements";
  const placed_range placed = enforce(row_major<2, all_rows_in_two>({}, {8, 4096}), pages);
  EXPECT_EQ(where(pages).on(node_id{2}), 8U);
}

TEST_F(distributed_span_test, arrays_of_arrays_are_placed_as_built_in_ones) {
  using pages_of_bytes = std::array<std::array<unsigned char, 4096>, 8>;
  alignas(4096) static pages_of_bytes pages;
  const auto over = domain_set::all();
  const auto grid = block<2>({8, 4096}, over);
  {
    const placed_range placed = enforce(grid, pages);
    EXPECT_EQ(placed.report().placed, 8U);
    EXPECT_EQ(verify(grid, std::as_const(pages)).at_home, 8U);
    EXPECT_EQ(where(pages[7]).on(node_id{3}), 1U);
  }
  EXPECT_DEATH(static_cast<void>(verify(block<2>({4096, 8}, over), pages)), "other extents");
  EXPECT_DEATH(static_cast<void>(verify(block<2>({8, 4095}, over), pages)), "another size");
  EXPECT_EQ(enforce(block(8), pages).report().placed, 8U) << "rows";
  EXPECT_EQ(enforce(block(sizeof pages), pages).report().placed, 8U) << "all of their elements";
  EXPECT_EQ(enforce(block<2>({2, 4}, over), pages).report().placed, 8U) << "eight elements that are arrays";
  EXPECT_EQ(distributed_span(pages, grid).enforce().report().placed, 8U);
  EXPECT_GE(verify(grid, pages_of_bytes()).asked, 7U) << "a temporary";
}

TEST_F(distributed_span_test, elements_of_arrays_may_be_arrays) {
  alignas(4096) static std::array<unsigned char, 1024> cells[8][4];
  alignas(4096) static std::array<std::array<std::array<unsigned char, 1024>, 4>, 8> more_cells;
  for (const auto& d : {block(8), block(8 * 4), block(8 * 4 * 1024)}) {
    EXPECT_EQ(enforce(d, cells).report().placed, 8U);
    EXPECT_EQ(enforce(d, more_cells).report().placed, 8U);
  }
  const auto grid = block<2>({8, 4}, domain_set::all());
  EXPECT_EQ(enforce(grid, cells).report().placed, 8U);
  EXPECT_EQ(enforce(grid, more_cells).report().placed, 8U);
  EXPECT_EQ(enforce(block<3>({8, 4, 1024}, domain_set::all()), more_cells).report().placed, 8U);
  EXPECT_DEATH(static_cast<void>(verify(block<2>({4, 8}, domain_set::all()), more_cells)), "other extents");
  EXPECT_DEATH(static_cast<void>(verify(block(8 * 5), more_cells)), "another size");
}

TEST_F(distributed_span_test, operators_of_the_elements_and_of_the_distribution_are_not_used) {
  std::vector<guarded> values(12);
  const distributed_span matrix(values, block<2>({3, 4}, domain_set::all()));
  matrix.row(2)[3].value = 5;
  EXPECT_EQ(values[11].value, 5);
  std::size_t count = 0;
  matrix.layout().for_each_run({{0, 1}, {3, 4}}, [&](const point<2>&, std::span<guarded> run) { count += run.size(); });
  EXPECT_EQ(count, 9U);
  own_memory pages(4);
  const guarded_distribution d;
  const placed_range placed = enforce(d, pages.span());
  EXPECT_EQ(verify(d, pages.span()).at_home, 4U);
}

TEST_F(distributed_span_test, memory_that_ends_with_the_call_is_refused) {
  static_assert(!std::is_constructible_v<distributed_span<int>, std::vector<int>, regular_distribution<>>);
  static_assert(std::is_constructible_v<distributed_span<const int>, std::vector<int>, regular_distribution<>>,
                "as a std::span of const: an argument");
  static_assert(std::is_constructible_v<distributed_span<int>, std::span<int>, regular_distribution<>>);
  static_assert(!std::is_constructible_v<memory_range, std::vector<int>>);
  static_assert(std::is_constructible_v<memory_range, std::vector<int>&>);
  std::vector<int> values(9);
  EXPECT_EQ(where(distributed_span(values, block(9))).pages, where(values).pages) << "a view may be a temporary";
  EXPECT_GE(where(std::vector<int>(9)).pages, 1U) << "needed during the call only";
  static_assert(!std::ranges::borrowed_range<own_view> && std::ranges::borrowed_range<own_borrowed_view>);
  EXPECT_EQ(where(own_view(values)).pages, where(values).pages);
  static_assert(!std::is_constructible_v<memory_range, own_view>);
  static_assert(std::is_constructible_v<memory_range, own_view&>, "named first");
  EXPECT_EQ(memory_range(own_borrowed_view(values)).bytes(), 9 * sizeof(int));
}

TEST_F(distributed_span_test, a_subview_of_a_subview_has_the_elements_and_homes_of_the_whole) {
  std::vector<int> values(1000);
  const auto d = block_cyclic(1000, 7);
  const distributed_span whole(values, d);
  const auto part = whole.subview(100, 900).subview(50, 60);
  static_assert(std::is_same_v<decltype(part.distribution()), const shifted<1, regular_distribution<>>&>, "one shift");
  ASSERT_EQ(part.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(&part[i], &values[150 + i]);
    EXPECT_EQ(part.distribution().home(interval(i, i + 1)), d.home_of(150 + i));
  }
  std::size_t at = 0;
  for_each_piece(part.distribution(), 0, 10, [&](const piece& p) {
    EXPECT_EQ(p.first, at);
    for (std::size_t i = p.first; i < p.last; ++i) EXPECT_EQ(p.home, d.home_of(150 + i));
    at = p.last;
  });
  EXPECT_EQ(at, 10U);
  EXPECT_TRUE(whole.subview(1000, 1000).empty());
  EXPECT_DEATH(static_cast<void>(part.subview(5, 11)), "the box reaches outside");
}

TEST_F(distributed_span_test, a_box_of_a_matrix_has_the_elements_and_homes_of_the_whole) {
  std::vector<int> values(60 * 80);
  const auto d = block_grid<2>({60, 80}, domain_set::all());
  const distributed_span matrix(values.data(), d);
  EXPECT_EQ(matrix.extents(), (point<2>{60, 80}));
  EXPECT_EQ(&matrix(3, 4), &values[244]);
  EXPECT_EQ(matrix.row(59).data(), &values[59 * 80]);
  const auto tile = matrix.subview({{20, 30}, {50, 70}}).subview({{1, 1}, {29, 39}});
  EXPECT_EQ(tile.extents(), (point<2>{28, 38}));
  EXPECT_FALSE(tile.is_contiguous());
  EXPECT_DEATH(static_cast<void>(tile.elements()), "other memory lies between the rows");
  std::set<std::optional<domain_index>> homes;
  for (std::size_t i = 0; i < 28; ++i) {
    for (std::size_t j = 0; j < 38; ++j) {
      ASSERT_EQ(&tile(i, j), &values[(21 + i) * 80 + 31 + j]);
      const auto home = tile.distribution().home(one<2>({i, j}));
      ASSERT_EQ(home, d.home_of({21 + i, 31 + j}));
      homes.insert(home);
    }
    EXPECT_EQ(tile.row(i).data(), &tile(i, 0));
    EXPECT_EQ(tile.row(i).size(), 38U);
  }
  EXPECT_EQ(homes.size(), 4U);
  // Box by box: each point once, at its home.
  std::size_t points = 0;
  for (std::size_t h = 0; h < 4; ++h) {
    tile.distribution().for_each_box(domain(h), [&](const box<2>& b) {
      EXPECT_EQ(tile.distribution().home(b), domain(h));
      points += (b.last[0] - b.first[0]) * (b.last[1] - b.first[1]);
    });
  }
  EXPECT_EQ(points, tile.size());
}

TEST_F(distributed_span_test, whole_rows_are_contiguous_and_can_be_verified) {
  distributed_array<double, 2> m(page_blocks<double, 2>({64, 512}));
  const auto upper = m.view().subview({{8, 0}, {40, 512}});
  EXPECT_TRUE(upper.is_contiguous());
  EXPECT_EQ(upper.verify().at_home, 32U);
  EXPECT_EQ(upper.verify().away, 0U);
  const distributed_span<const double, 2> constant = m;
  EXPECT_EQ(constant.data(), m.data());
  EXPECT_EQ(std::as_const(m).view().row(3).data(), &m(3, 0));
}

TEST_F(distributed_span_test, a_box_of_one_row_is_contiguous) {
  distributed_array<double, 2> m(page_blocks<double, 2>({64, 1024}));
  const auto row = m.view().subview({{8, 512}, {9, 1024}});
  EXPECT_TRUE(row.is_contiguous());
  EXPECT_EQ(row.elements().data(), &m(8, 512));
  EXPECT_EQ(row.elements().size(), 512U);
  EXPECT_EQ(row.verify().away, 0U);
  EXPECT_FALSE(m.view().subview({{8, 512}, {10, 1024}}).is_contiguous());
  EXPECT_FALSE(m.view().subview({{8, 5}, {10, 6}}).is_contiguous()) << "a column";
  EXPECT_TRUE(m.view().subview({{8, 5}, {9, 6}}).is_contiguous()) << "one element";
  std::vector<int> values(4 * 8 * 16);
  const distributed_span cube(values.data(), block<3>({4, 8, 16}, domain_set::all()));
  EXPECT_TRUE(cube.subview({{1, 2, 0}, {2, 5, 16}}).is_contiguous()) << "rows of one plane";
  EXPECT_FALSE(cube.subview({{1, 2, 0}, {3, 5, 16}}).is_contiguous());
  EXPECT_FALSE(cube.subview({{1, 2, 3}, {3, 3, 4}}).is_contiguous());
}

TEST_F(distributed_span_test, runs_of_a_box_have_each_point_once_in_order) {
  std::vector<int> values(4 * 5 * 6);
  const distributed_span cube(values.data(), block<3>({4, 5, 6}, domain_set::all()));
  const box<3> part{{1, 2, 3}, {3, 5, 5}};
  std::vector<point<3>> begins;
  cube.layout().for_each_run(part, [&](const point<3>& at, std::span<int> run) {
    begins.push_back(at);
    EXPECT_EQ(run.size(), 2U);
    EXPECT_EQ(run.data(), &cube[at]);
  });
  EXPECT_EQ(begins, (std::vector<point<3>>{{1, 2, 3}, {1, 3, 3}, {1, 4, 3}, {2, 2, 3}, {2, 3, 3}, {2, 4, 3}}));
  cube.layout().for_each_run({{1, 1, 1}, {1, 2, 2}}, [&](const auto&, auto) { ADD_FAILURE() << "nothing is in it"; });
}

int table_of_unknown_size[] = {7, 8};

}  // namespace
