/// Where a test may put a file: in the folder for such, under a name that no other process has.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace homing::testing {

/// `name` tells the files of one process apart.
inline std::string temporary_path(const std::string& name) {
  return ::testing::TempDir() + "homing_" + std::to_string(::getpid()) + '_' + name;
}

}  // namespace homing::testing
