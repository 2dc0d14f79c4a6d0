/// Property: sizes and counts are read strictly, spreads are the usual quartiles, teams run every member once a round,
/// matrices and pictures show what they were given. Method: tables of good and bad input, and small examples.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "measure/picture.hpp"
#include "measure/report_parts.hpp"
#include "measure/spread.hpp"
#include "measure/team.hpp"
#include "measure/text_matrix.hpp"
#include "measure/units.hpp"

namespace homing::measure {
namespace {

TEST(units, sizes_are_read_with_their_unit) {
  const std::pair<const char*, std::uint64_t> good[] = {
      {"4096", 4096},        {"1B", 1},        {"64K", 65536},       {"64KiB", 65536},     {"64kB", 64000},
      {"2M", 2U << 20},      {"2MB", 2000000}, {"1.5G", 3ULL << 29}, {"1GiB", 1ULL << 30}, {"1TB", 1000000000000},
      {"1024T", 1ULL << 50}, {"0.5K", 512}};
  for (const auto& [text, bytes] : good) {
    EXPECT_EQ(parse_size(text).error, "") << text;
    EXPECT_EQ(parse_size(text).value, bytes) << text;
  }
}

TEST(units, what_is_no_size_is_refused) {
  for (const char* text : {"",     "M",   "-1M",  "+1M", " 1M",  "1 M",   "1M ",
                           "1X",   "1Mi", "1MBB", "1e3", "0x10", ".5M",   "5.",
                           "5.M",  "inf", "nan",  "0",   "0M",   "1025T", "99999999999999999999",
                           "1,5M", "1M2"}) {
    EXPECT_NE(parse_size(text).error, "") << text;
  }
}

TEST(units, counts_have_bounds) {
  EXPECT_EQ(parse_count("7", 1, 9).value, 7U);
  for (const char* text : {"", "0", "10", "-1", "+1", "1.5", " 1", "1 ", "x", "99999999999"}) {
    EXPECT_EQ(parse_count(text, 1, 9).error, "not a whole number from 1 to 9") << text;
  }
}

TEST(units, sizes_are_written_in_the_largest_unit) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(128U << 20), "128 MiB");
  EXPECT_EQ(size_text(3ULL << 40), "3 TiB");
}

TEST(spread, has_the_usual_quartiles) {
  const spread s = summarize({4, 1, 3, 2});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.q1, 1.75);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.q3, 3.25);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(s.samples, (std::vector<double>{4, 1, 3, 2})) << "as measured";
  EXPECT_EQ(summarize({7}).median, 7);
  EXPECT_EQ(summarize({7}).q3, 7);
  EXPECT_EQ(spread_text(summarize({99, 100, 110})), "100.0 (-1.0% +10.0%)");
}

TEST(team, runs_every_member_once_a_round_also_with_more_members_than_cpus) {
  team threads(std::vector<cpu_id>(8, cpu_id{0}));
  std::vector<int> count(8, 0);
  for (int round = 0; round < 50; ++round) {
    EXPECT_GE(threads.run([&](std::size_t i) { ++count[i]; }), 0);
  }
  EXPECT_EQ(count, std::vector<int>(8, 50));
}

TEST(team, says_how_many_could_not_be_bound) {
  team threads({cpu_id{-1}, cpu_id{-1}});
  EXPECT_EQ(threads.unbound(), 2U);
}

TEST(text_matrix, has_columns_as_wide_as_their_widest_cell) {
  const text_matrix m{"t", "CPU node", "memory node", {"0", "1"}, {"0", "10"}, {"1.5", "22.5", "333.5", "4"}};
  EXPECT_EQ(draw(m),
            "t\n"
            "          memory node\n"
            "CPU node      0    10\n"
            "       0    1.5  22.5\n"
            "       1  333.5     4\n");
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST(picture, shows_each_cell_and_escapes_what_it_is_given) {
  picture p("a < b & c", palette::blue);
  p.caption("machine <x>");
  p.add(heat_map{"triad",
                 "CPU node",
                 "memory node",
                 {"0", "1"},
                 {"0", "1"},
                 {{10, "10.0", "r"}, {20, "20.0", "r"}, {30, "30.0", "r"}, {40, "40.0", "r"}}});
  const std::string svg = p.finish();
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* text : {">10.0<", ">20.0<", ">30.0<", ">40.0<", "a &lt; b &amp; c", "machine &lt;x&gt;"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "<rect"), 5U) << "a card and four cells";
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(svg.find("http", svg.find("xmlns") + 40), std::string::npos) << "needs nothing from elsewhere";
}

TEST(picture, draws_a_point_for_each_figure_of_a_curve) {
  picture p("latency", palette::orange);
  p.add(curve_chart{"loaded", "MB/s", "ns", {{"node 0", {{100, 90, 80, 95}, {5000, 200, 190, 250}}}, {"node 1", {}}}});
  const std::string svg = p.finish();
  EXPECT_EQ(occurrences(svg, "<circle"), 2U);
  EXPECT_NE(svg.find(">node 1<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace homing::measure
