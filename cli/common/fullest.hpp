/// The fullest of many looks at a process: what a program had in memory when it had most.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/process.hpp"

namespace homing::cli {

/// Threads: one. A look walks the page tables and may hold the program up: a tenth of the time at most.
class fullest_look {
 public:
  /// Looks; `show` (may be empty) is given what was seen.
  void look(pid_t process, const node_of_cpu& nodes, const std::function<void(const process_look&)>& show);
  /// False while it is too early for another look.
  [[nodiscard]] bool is_time() const { return std::chrono::steady_clock::now() >= not_before_; }
  /// The look with most bytes, with the threads of the one that had most of them; nothing if none succeeded.
  [[nodiscard]] std::optional<process_look> best() const;
  /// Why there is none.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::optional<process_look> best_;
  std::vector<thread_look> threads_;
  std::string error_ = "the program was not seen";
  std::chrono::steady_clock::time_point not_before_{};
};

/// Looks ten times a second from a thread of its own, from start() to stop().
class background_look {
 public:
  /// Errors: std::runtime_error.
  void start(pid_t process);
  /// The fullest look so far. Ends the thread.
  [[nodiscard]] std::optional<process_look> stop();
  background_look() = default;
  background_look(const background_look&) = delete;
  background_look& operator=(const background_look&) = delete;
  ~background_look() { static_cast<void>(stop()); }

 private:
  void run(pid_t process);

  fullest_look fullest_;  // the thread's, until it is joined
  std::mutex lock_;
  std::condition_variable wake_;
  bool stopping_ = false;  // under lock_
  std::thread thread_;
};

}  // namespace homing::cli
