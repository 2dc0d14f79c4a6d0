/// Whether another thread of this process sleeps, as the kernel sees it.
#pragma once

#include <unistd.h>

#include <fstream>
#include <string>

namespace homing::testing {

/// Whether the thread is asleep in the kernel at this moment.
inline bool sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  return text.find(") S ") != std::string::npos;
}

}  // namespace homing::testing
