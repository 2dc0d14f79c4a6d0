// machine.json is read whole or refused with one line that names the figure. Method: a good machine, then one wrong
// figure at a time.
#include <gtest/gtest.h>

#include "unit/common/lab_machine_text.hpp"

namespace {

using namespace homing::lab::model;

std::string complaint(const nlohmann::json& json) {
  try {
    return parse_machine(json.dump()).name.substr(0, 0);
  } catch (const machine_error& error) {
    return error.what();
  }
}

TEST(LabMachine, IsReadWhole) {
  const machine m = lab_test::machine();
  EXPECT_EQ(m.cpus(), 4U);
  EXPECT_EQ(m.nodes(), 2U);
  EXPECT_EQ(m.cores(), 4U);
  EXPECT_EQ(m.private_cache.sets(), 8U);
  EXPECT_EQ(m.dram_ns[0][1], 200);
  EXPECT_EQ(m.routes[1][0], std::vector<unsigned>{1});
  EXPECT_EQ(m.assumed, std::vector<std::string>{"cpi"});
}

TEST(LabMachine, WrongFiguresAreNamed) {
  const auto with = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = lab_test::machine_json();
    json[nlohmann::json::json_pointer(pointer)] = value;
    return complaint(json);
  };
  EXPECT_NE(with("/clock_ghz", 0).find("clock_ghz: expected a number above 0"), std::string::npos);
  EXPECT_NE(with("/line", 128).find("line: expected a whole number from 64 to 64"), std::string::npos);
  EXPECT_NE(with("/cpu_node/3", 2).find("cpu_node[3]"), std::string::npos);
  EXPECT_NE(with("/cpu_l3/0", 1).find("cpu_l3[0]: expected a cache of node 0"), std::string::npos);
  EXPECT_NE(with("/routes/0/1/0", 7).find("routes[0][1][0]"), std::string::npos);
  EXPECT_NE(with("/dram_ns/0/1", nullptr).find("dram_ns[0][1]: expected a latency"), std::string::npos);
  EXPECT_NE(with("/shared/1/ways", "4").find("shared[1].ways"), std::string::npos);
  EXPECT_NE(with("/private/size_kib", 0.01).find("private: expected at least one set"), std::string::npos);
  EXPECT_NE(with("/frequency", 1).find("frequency: expected no such key"), std::string::npos);
  EXPECT_NE(with("/memory", nlohmann::json::array()).find("memory: expected at least one"), std::string::npos);
}

TEST(LabMachine, MissingFiguresAreNamed) {
  const nlohmann::json good = lab_test::machine_json();
  for (const auto& [key, value] : good.items()) {
    nlohmann::json json = good;
    json.erase(key);
    EXPECT_NE(complaint(json).find(key), std::string::npos) << complaint(json);
  }
}

TEST(LabMachine, IsNotJson) { EXPECT_THROW(static_cast<void>(parse_machine("[machine]")), machine_error); }

}  // namespace
