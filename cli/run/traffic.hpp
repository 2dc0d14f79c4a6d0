/// How much of a program's memory traffic stayed on its node, as the CPU's own event counters say; where the CPU has
/// no such events, or they may not be read, a reason and no number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace homing::cli {

enum class reach { near, far };

struct traffic_event {
  std::string name;  ///< libpfm4's
  reach where;
  std::uint64_t count = 0;  ///< scaled up if the counter was shared with others for a part of the time
};

struct [[nodiscard]] traffic_result {
  std::vector<traffic_event> events{};  ///< empty: not measured
  std::string reason{};                 ///< then: why
};

struct event_set {
  const char* cpus;  ///< libpfm4's names of the CPUs that have it, with spaces between
  std::vector<const char*> near;
  std::vector<const char*> far;
};

/// The events of this computer's CPU.
struct known_events {
  const event_set* set = nullptr;  ///< nothing: `reason` says why
  std::string cpu{};               ///< libpfm4's name of it
  std::string reason{};
};
[[nodiscard]] known_events find_events();

/// Counts a process and all that it starts, from its exec on.
///
/// Ownership: the counters are closed with it. Threads: one.
class traffic_counter {
 public:
  traffic_counter() = default;
  traffic_counter(const traffic_counter&) = delete;
  traffic_counter& operator=(const traffic_counter&) = delete;
  ~traffic_counter();

  /// To be called while `process` waits to become the program.
  void attach(pid_t process);
  /// The counts so far; final when the process has ended.
  traffic_result read() const;

 private:
  struct open_event {
    traffic_event what;
    int file;
  };
  std::vector<open_event> open_;
  std::string reason_ = "no program was started";
};

/// The events that would be asked for, by CPU: for a test that libpfm4 knows all of them.
[[nodiscard]] const std::vector<event_set>& event_sets();

/// Whether libpfm4 can encode the event for the named CPU, present or not.
[[nodiscard]] bool is_known_event(const std::string& cpu, const std::string& event);

}  // namespace homing::cli
