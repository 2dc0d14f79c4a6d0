// Property: numactl's node syntax is read as numactl documents it, and everything else is refused with a reason.
// Method: lists against sets written by hand, on machines with gaps, and a table of wrong ones.
#include <gtest/gtest.h>

#include "node_list.hpp"

namespace {

using homing::cli::parse_nodes;
using homing::platform::node_set;

node_set set(const char* list) { return *node_set::parse_list(list); }

TEST(NodeList, NumbersAndRanges) {
  const node_set machine = set("0-3,8,33");
  EXPECT_EQ(parse_nodes("0", machine).nodes, set("0"));
  EXPECT_EQ(parse_nodes("0-1,3", machine).nodes, set("0-1,3"));
  EXPECT_EQ(parse_nodes("33,0,33", machine).nodes, set("0,33"));
  EXPECT_EQ(parse_nodes("all", machine).nodes, machine);
}

TEST(NodeList, TheOthers) {
  const node_set machine = set("0-3,8");
  EXPECT_EQ(parse_nodes("!0", machine).nodes, set("1-3,8"));
  EXPECT_EQ(parse_nodes("!1-3", machine).nodes, set("0,8"));
}

TEST(NodeList, RelativeToWhatIsAllowed) {
  const node_set allowed = set("2,5,33");
  EXPECT_EQ(parse_nodes("+0", allowed).nodes, set("2"));
  EXPECT_EQ(parse_nodes("+1-2", allowed).nodes, set("5,33"));
  EXPECT_EQ(parse_nodes("+0,2", allowed).nodes, set("2,33"));
  EXPECT_EQ(parse_nodes("!+0", allowed).nodes, set("5,33"));
}

TEST(NodeList, WrongOnesSayWhat) {
  const node_set machine = set("0-3");
  for (const char* text : {"",      " ",     "0 ", " 0", "0,",  ",0",  "0-",  "-1",  "3-1", "a",
                           "0x1",   "0-1-2", "!",  "+",  "+!0", "!!0", "ALL", "1.5", "0;1", "99999999999999999999",
                           "all,0", "0\n"}) {
    const auto seen = parse_nodes(text, machine);
    EXPECT_TRUE(seen.nodes.empty()) << text;
    EXPECT_NE(seen.error.find("is not a list of nodes"), std::string::npos) << text << ": " << seen.error;
    EXPECT_NE(seen.error.find("0-3"), std::string::npos) << seen.error;
  }
  for (const char* text : {"4", "0-4", "!7", "+4", "!+4"}) {
    const auto seen = parse_nodes(text, machine);
    EXPECT_TRUE(seen.nodes.empty()) << text;
    EXPECT_NE(seen.error.find("does not exist or may not be used"), std::string::npos) << seen.error;
  }
  EXPECT_NE(parse_nodes("!0-3", machine).error.find("leaves no node"), std::string::npos);
  EXPECT_FALSE(parse_nodes("all", node_set()).error.empty());
}

}  // namespace
