/// homing-count FILE PROGRAM [ARGS...]: near and far memory traffic of any program, on whatever library it runs, by the
/// CPU's own events; into FILE as one JSON object, so that the program's output stays its own.
#include <cstdio>
#include <exception>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/child.hpp"
#include "common/command.hpp"
#include "run/traffic.hpp"

int main(int count, char** words) {
  using namespace homing::cli;
  if (count < 3) {
    complain("usage: homing-count FILE PROGRAM [ARGS...]");
    return exit_usage;
  }
  try {
    traffic_counter counter;
    const run_result result = run_and_wait({words + 2, words + count}, [&](pid_t child) { counter.attach(child); });
    if (result.exec_error != 0) {
      complain(start_problem(words[2], result.exec_error));
      return result.exit_code;
    }
    const traffic_result seen = counter.read();
    nlohmann::ordered_json said;
    if (seen.events.empty()) {
      said["reason"] = seen.reason;
    } else {
      std::uint64_t near = 0;
      std::uint64_t far = 0;
      for (const traffic_event& event : seen.events) {
        said["events"][event.name] = event.count;
        (event.where == reach::near ? near : far) += event.count;
      }
      said["near"] = near;
      said["far"] = far;
    }
    std::ofstream file(words[1]);
    file << said.dump() << '\n';
    if (!file.flush()) {
      complain(std::string("can't write ") + words[1]);
      return exit_failure;
    }
    return result.exit_code;
  } catch (const std::exception& error) {
    complain(error.what());
    return exit_failure;
  }
}
