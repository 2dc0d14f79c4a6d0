/// Property: a misspelt variable is told with the name that was meant, and only if one is near.
/// Method: typing errors of each kind, and names that nobody meant.
#include "platform/known_variables.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace homing::platform {
namespace {

TEST(known_variables, are_those_of_the_table_and_of_tests) {
  EXPECT_TRUE(is_known_variable("HOMING_THREADS"));
  EXPECT_TRUE(is_known_variable("HOMING_TEST_STOCK"));
  EXPECT_FALSE(is_known_variable("HOMING_THREAD"));
  EXPECT_FALSE(is_known_variable("HOMING_"));
}

TEST(nearest_variable, is_the_one_with_the_fewest_letters_to_change) {
  EXPECT_EQ(nearest_variable("HOMING_THREAD"), "HOMING_THREADS");
  EXPECT_EQ(nearest_variable("HOMING_TOPOLGY"), "HOMING_TOPOLOGY");
  EXPECT_EQ(nearest_variable("HOMING_RAPORT"), "HOMING_REPORT");
  EXPECT_EQ(nearest_variable("HOMING_PIN_MASTER"), "HOMING_PIN_MASTERS");
  EXPECT_EQ(nearest_variable("HOMING_"), "");
  EXPECT_EQ(nearest_variable("HOMING_X"), "");
  EXPECT_EQ(nearest_variable("HOMING_CAGE_OF_PIGEONS"), "");
  EXPECT_EQ(nearest_variable("HOMING_" + std::string(5000, 'T')), "");
}

TEST(unknown_variables, are_said_once) {
  ::setenv("HOMING_DOMIAN", "node", 1);
  ::testing::internal::CaptureStderr();
  warn_of_unknown_variables();
  warn_of_unknown_variables();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "homing: HOMING_DOMIAN is not a variable of Homing, and has no effect: the nearest is HOMING_DOMAIN\n");
}

}  // namespace
}  // namespace homing::platform
