/// Property: an id set is a set, of any size, and reads and writes the kernel's list format strictly.
/// Method: examples at word borders and beyond 1024 ids, and texts that must be refused.
#include "platform/id_set.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace homing::platform {
namespace {

cpu_set set_of(const char* list) {
  const auto parsed = cpu_set::parse_list(list);
  EXPECT_TRUE(parsed) << list;
  return parsed.value_or(cpu_set{});
}

TEST(id_set, members_at_word_borders_and_far_out) {
  cpu_set s{cpu_id{0}, cpu_id{63}, cpu_id{64}, cpu_id{5000}};
  EXPECT_EQ(s.count(), 4U);
  EXPECT_TRUE(s.contains(cpu_id{5000}));
  EXPECT_FALSE(s.contains(cpu_id{4999}));
  EXPECT_FALSE(s.contains(cpu_id{-1}));
  EXPECT_FALSE(s.contains(cpu_id{1 << 30}));
  s.remove(cpu_id{5000});
  s.remove(cpu_id{7});
  EXPECT_EQ(s.list(), "0,63-64");
  EXPECT_EQ(s.ids(), (std::vector{cpu_id{0}, cpu_id{63}, cpu_id{64}}));
}

/// 256 ids are kept in place, more elsewhere.
TEST(id_set, grows_and_shrinks_over_the_border) {
  const cpu_set few{cpu_id{1}, cpu_id{255}};
  cpu_set s = few;
  s.add(cpu_id{256});
  s.add(cpu_id{700});
  EXPECT_EQ(s.list(), "1,255-256,700");
  EXPECT_NE(s, few);
  const cpu_set more = s;
  cpu_set moved = std::move(s);
  EXPECT_EQ(moved, more);
  moved.remove(cpu_id{700});
  moved.remove(cpu_id{256});
  EXPECT_EQ(moved, few);
  EXPECT_EQ(moved.words().size(), 4U);
  EXPECT_EQ(more & few, few);
  EXPECT_EQ(few | more, more);
  EXPECT_EQ((more - few).list(), "256,700");
  EXPECT_TRUE((few - more).empty());
  EXPECT_EQ(cpu_set::from_words(more.words()), more);
  moved.remove(cpu_id{255});
  moved.remove(cpu_id{1});
  EXPECT_TRUE(moved.empty());
  moved.add(cpu_id{255});
  EXPECT_EQ(moved.list(), "255") << "words that come back are empty";
}

TEST(id_set, ids_that_no_kernel_gives_are_ignored) {
  const cpu_set s{cpu_id{-1}, cpu_id{cpu_set::id_count_max}};
  EXPECT_TRUE(s.empty());
}

TEST(id_set, equality_does_not_depend_on_capacity) {
  cpu_set wide{cpu_id{1}, cpu_id{1000}};
  wide.remove(cpu_id{1000});
  EXPECT_EQ(wide, cpu_set{cpu_id{1}});
  wide.remove(cpu_id{1});
  EXPECT_TRUE(wide.empty());
  EXPECT_EQ(wide, cpu_set{});
}

TEST(id_set, intersection_and_union) {
  EXPECT_EQ((set_of("0-3,100") & set_of("2-5")).list(), "2-3");
  EXPECT_EQ((set_of("0-3") | set_of("2-5,100")).list(), "0-5,100");
  EXPECT_TRUE((set_of("200") & set_of("1")).empty());
}

TEST(id_set, words_are_the_kernels_mask) {
  const cpu_set s = set_of("1,64-65");
  ASSERT_EQ(s.words().size(), 2U);
  EXPECT_EQ(s.words()[0], 2UL);
  EXPECT_EQ(s.words()[1], 3UL);
  EXPECT_EQ(cpu_set::from_words(s.words()), s);
}

TEST(id_set, list_format) {
  for (const char* list : {"", "0", "0-1", "0,2,4", "0-3,8,10-4095", "5-6,1048575"}) {
    EXPECT_EQ(set_of(list).list(), list);
  }
  EXPECT_EQ(set_of("3,1-2,2\n").list(), "1-3");
}

TEST(id_set, list_format_is_strict) {
  for (const char* list : {",", "1,", ",1", "1-", "-1", "3-1", "1--2", "a", "1a", "0x1", "1 2", " 1", "1048576",
                           "99999999999999999999", "1-2-3", "+1"}) {
    EXPECT_FALSE(cpu_set::parse_list(list)) << list;
  }
}

}  // namespace
}  // namespace homing::platform
