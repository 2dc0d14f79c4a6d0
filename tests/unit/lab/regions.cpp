// Labels and what becomes of them: the lab's own region is nobody else's, what finds no room is counted, notes keep
// their letters, and a result that can't be written is told of. Method: a run's marks by hand, and the file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "session.hpp"
#include "unit/common/lab_machine_text.hpp"
#include "unit/common/temporary_path.hpp"

namespace {

using namespace homing::lab::model;
using homing::testing::temporary_path;

struct LabRegions : testing::Test {
  LabRegions() : out(temporary_path("regions.json")), run(lab_test::machine(), out, no_sleep) {
    for (const unsigned operation : {HOMING_LAB_LEARN_PAGE, HOMING_LAB_CHECK_PAGE}) {
      for (const unsigned node : {0U, 1U}) run.mark(0, operation, 0x7000 + node, (std::uint64_t{node} << 21) + 0x1000);
    }
    run.mark(0, HOMING_LAB_CALIBRATED, 0x7000, 0);
  }
  ~LabRegions() override { std::filesystem::remove(out); }
  static void no_sleep(bell&, std::uint32_t) {}
  void say(unsigned operation, const std::string& label) {
    for (const char letter : label) run.mark(0, HOMING_LAB_LETTER, 0x5500 + static_cast<unsigned char>(letter), 0);
    run.mark(0, operation, 0x5500, 0);
  }
  nlohmann::json written() {
    EXPECT_EQ(run.write(), "");
    std::ifstream in(out);
    return nlohmann::json::parse(in);
  }

  std::filesystem::path out;
  session run;
};

TEST_F(LabRegions, TheLabsOwnIsNotTheProgramsToEnd) {
  for (const unsigned operation : {HOMING_LAB_CLOSE, HOMING_LAB_CLOSE, HOMING_LAB_OPEN}) say(operation, "whole");
  run.run(0, 1000, who::program);
  const auto json = written();
  ASSERT_EQ(json["regions"].size(), 1U);
  EXPECT_EQ(json["regions"][0]["label"], "whole");
  EXPECT_EQ(json["regions"][0]["entries"], 1);
  EXPECT_EQ(json["regions"][0]["instructions"], 1000);
}

TEST_F(LabRegions, WhatFindsNoRoomIsCounted) {
  for (std::size_t i = 0; i != regions::labels_max + 3; ++i) say(HOMING_LAB_OPEN, std::to_string(i));
  say(HOMING_LAB_OPEN, "7");  // has its room
  const auto json = written();
  EXPECT_EQ(json["regions"].size(), regions::labels_max + 1);
  EXPECT_EQ(json["regionsLeftOut"], 3);
}

TEST(LabLetters, NotesKeepAllButControls) {
  const std::string path = "x/\xc3\xbc/app\n\x7f";
  letters all;
  for (const char letter : path) all.add(0x100, letter);
  for (const char letter : path) all.add(0x200, letter);
  EXPECT_EQ(all.take_note(0x100), "x/\xc3\xbc/app??");
  EXPECT_EQ(all.take(0x200),
            "x/?"
            "?/app??");
  EXPECT_EQ(all.take(0x200), "unnamed");
}

TEST_F(LabRegions, AResultThatCantBeWrittenIsToldOf) {
  std::filesystem::path beside = out;
  beside += ".part";
  std::filesystem::create_directory(beside);
  testing::internal::CaptureStderr();
  run.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  std::filesystem::remove(beside);
  EXPECT_EQ(said.rfind("homing lab: the counts of this run are lost: out=", 0), 0U) << said;
  EXPECT_NE(said.find("Is a directory"), std::string::npos) << said;
}

TEST_F(LabRegions, HotLinesHavePathsOfAnyBytes) {
  run.watch_for(temporary_path("regions_hot.json"));
  say(HOMING_LAB_NOTE, "x/\xfc/app");
  EXPECT_NE(run.watch()->document(run.of(), run.model()->scale()).find("/app"), std::string::npos);
}

}  // namespace
