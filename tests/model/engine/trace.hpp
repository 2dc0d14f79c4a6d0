/// What happened in one execution, operation by operation, and its print.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

#include "engine/memory.hpp"

namespace homing::model {

struct event {
  enum class kind : std::uint8_t {
    load,
    store,
    update,
    failed_update,
    fence,
    light_fence,
    heavy_fence,
    pause,
    futex_wait,
    futex_return,
    futex_wake,
    lock,
    unlock,
    start,
    finish
  };
  kind what;
  order how;
  thread_index who;
  location_index where;
  std::uint64_t read;
  std::uint64_t written;
  std::uint32_t from;  ///< the step of the store that was read; 0: the initial value
  std::source_location at;
};

class trace {
 public:
  void clear() noexcept { events_.clear(); }
  void add(const event& e) { events_.push_back(e); }
  /// Of the event that comes next, from 1.
  [[nodiscard]] std::uint32_t next() const noexcept { return static_cast<std::uint32_t>(events_.size() + 1); }
  [[nodiscard]] std::string text() const;

 private:
  list<event> events_;
};

[[nodiscard]] const char* name_of(order o) noexcept;
/// The path from the source tree's folder on, and the line.
[[nodiscard]] std::string place(const std::source_location& at);

}  // namespace homing::model
