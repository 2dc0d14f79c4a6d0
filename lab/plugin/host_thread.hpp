/// A thread of this process, as the host's kernel sees it.
///
/// Threads: is_this() by that thread, runs() by any.
/// Errors:  a thread of which the kernel says nothing does not run.
/// Source:  proc(5), /proc/pid/stat.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <string_view>

namespace homing::lab::model {

class host_thread {
 public:
  host_thread() = default;
  host_thread(const host_thread&) = delete;
  host_thread& operator=(const host_thread&) = delete;
  ~host_thread() {
    if (const int file = file_.load(std::memory_order_relaxed); file >= 0) close(file);
  }

  /// The calling thread is the one; later calls change nothing.
  void is_this() noexcept {
    if (file_.load(std::memory_order_relaxed) >= 0) return;
    char name[48] = "/proc/self/task/";
    char* const end = std::to_chars(name + std::string_view(name).size(), name + 32, gettid()).ptr;
    std::string_view("/stat").copy(end, 5);  // zeros follow
    // Relaxed: a number that the kernel knows; who sees it late takes the thread for one that does not run.
    file_.store(open(name, O_RDONLY | O_CLOEXEC), std::memory_order_relaxed);
  }
  /// Whether it has a processor, or waits for one.
  [[nodiscard]] bool runs() const noexcept {
    char text[96];
    const int file = file_.load(std::memory_order_relaxed);
    const ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text, 0);
    if (size <= 0) return false;
    const std::string_view line(text, static_cast<std::size_t>(size));
    const std::size_t state = line.rfind(") ");  // its name may contain anything
    return state != std::string_view::npos && line.substr(state + 2, 1) == "R";
  }

 private:
  std::atomic<int> file_{-1};
};

}  // namespace homing::lab::model
