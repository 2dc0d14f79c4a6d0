// What a run says about itself: progress, failures, and the state of every thread when it hangs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace stress {

/// Says that something was done; the watchdog looks for nothing else. Any thread, very cheap.
void note_progress() noexcept;

/// The number of note_progress() calls so far.
std::uint64_t progress_count() noexcept;

/// Remembers what is running, for the reports. Called by the main thread between rounds.
/// \param name  a string that outlives the round
void set_current_round(const char* name, std::uint64_t seed, int threads) noexcept;

/// Prints every thread's name, state, kernel wait channel and (where gdb is installed and may
/// attach) backtrace on stderr.
void print_threads() noexcept;

/// Reports a broken property with the seed that shows it, and aborts. Any thread, never returns.
[[noreturn]] void fail(const std::string& what) noexcept;

/// fail(what) unless the condition holds.
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

/// A thread that turns a hang into a report: without progress for `limit_s` seconds it prints all
/// threads and aborts.
class watchdog {
 public:
  explicit watchdog(int limit_s);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  void watch();

  const int limit_s_;
  std::mutex lock_;
  std::condition_variable stopped_;
  bool stop_ = false;  // guarded by lock_
  std::thread thread_;
};

}  // namespace stress
