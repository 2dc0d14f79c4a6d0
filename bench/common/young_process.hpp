// A process that has used nothing of TBB before, and what its first use takes.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace bench {

struct times {
  std::int64_t wall_ns;
  std::int64_t cpu_ns;
};

/// Runs this program once more, as be_young(): with that word and number of threads. All -1 if it fails.
inline times in_young_process(const char* program, const char* what, int threads) {
  times read_times{-1, -1};
  int ends[2];
  if (pipe(ends) != 0) return read_times;
  const std::string count = std::to_string(threads);
  const std::string answer_to = std::to_string(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    execl("/proc/self/exe", program, "--young", what, count.c_str(), answer_to.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  const bool complete = read(ends[0], &read_times, sizeof read_times) == static_cast<ssize_t>(sizeof read_times);
  close(ends[0]);
  int status = 0;
  const bool ended_well = child > 0 && waitpid(child, &status, 0) == child && status == 0;
  return complete && ended_well ? read_times : times{-1, -1};
}

/// Whether main() was called by in_young_process().
inline bool is_young(int argc, char** argv) { return argc == 5 && std::strcmp(argv[1], "--young") == 0; }

/// The child's side: `measure(what, threads)` gives its times. What main() returns.
template <class Measure>
int be_young(char** argv, Measure&& measure) {
  const times young = measure(argv[2], std::atoi(argv[3]));
  return write(std::atoi(argv[4]), &young, sizeof young) == static_cast<ssize_t>(sizeof young) ? 0 : 1;
}

}  // namespace bench
