/// What the kernel says about the library's workers: how many sleep, and how often they have gone to sleep so far.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace homing::testing {

struct thread_facts {
  bool asleep = false;
  unsigned long times_slept = 0;  ///< voluntary context switches; giving the CPU away is not one
};

/// All workers of this process, by thread id. A thread that ends meanwhile is left out.
inline std::map<std::string, thread_facts> worker_threads() {
  std::map<std::string, thread_facts> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "status");
    thread_facts facts;
    bool is_worker = false;
    for (std::string name, value; std::getline(file, name, ':') && std::getline(file >> std::ws, value);) {
      if (name == "Name") {
        is_worker = value.starts_with("homing-");
      } else if (name == "State") {
        facts.asleep = value.starts_with("S");
      } else if (name == "voluntary_ctxt_switches") {
        facts.times_slept = std::stoul(value);
      }
    }
    if (is_worker) {
      result[entry.path().filename()] = facts;
    }
  }
  return result;
}

inline int sleeping_workers() {
  int result = 0;
  for (const auto& [id, facts] : worker_threads()) {
    result += facts.asleep ? 1 : 0;
  }
  return result;
}

/// Whether so many workers, and no others, sleep in each of two looks, and slept at a moment in between: none has gone
/// to sleep once more. If these are all, none waits for a lock: whoever holds that would be awake.
inline bool workers_rest(int count) {
  const auto before = worker_threads();
  const auto after = worker_threads();
  const auto is_in_the_same = [&](const auto& w) {
    const auto then = before.find(w.first);
    return w.second.asleep && then != before.end() && then->second.asleep &&
           then->second.times_slept == w.second.times_slept;
  };
  const auto asleep = [](const auto& all) {
    return std::count_if(all.begin(), all.end(), [](const auto& w) { return w.second.asleep; });
  };
  return asleep(before) == count && asleep(after) == count &&
         std::count_if(after.begin(), after.end(), is_in_the_same) == count;
}
/// The same of all that there are.
inline bool all_workers_rest() { return workers_rest(static_cast<int>(worker_threads().size())); }

}  // namespace homing::testing
