/// What a loop is planned in: memory on the caller's stack, and from the heap where that is used up.
///
/// Ownership: it is given back as a whole, at the loop's end.
/// Threads:   the caller's. What lies in it may be any thread's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>

namespace homing::detail {

class loop_memory {
 public:
  loop_memory() = default;
  loop_memory(const loop_memory&) = delete;
  loop_memory& operator=(const loop_memory&) = delete;
  [[nodiscard]] std::pmr::memory_resource* get() noexcept { return &all_; }

  /// Room for `count` objects, on cache lines of their own, of which none is made: whoever needs one makes it, and
  /// nobody ends them. Errors: std::bad_alloc.
  template <class T>
  [[nodiscard]] std::span<T> room_for(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    constexpr std::size_t alignment = std::max<std::size_t>(line_bytes, alignof(T));
    if (count > (SIZE_MAX - line_bytes) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (count * sizeof(T) + line_bytes - 1) / line_bytes * line_bytes;
    return {static_cast<T*>(all_.allocate(bytes, alignment)), count};
  }

 private:
  static constexpr std::size_t line_bytes = 64;
  static constexpr std::size_t on_stack_bytes = 4096;  // a loop for 16 threads on 4 domains
  alignas(line_bytes) std::byte on_stack_[on_stack_bytes];
  std::pmr::monotonic_buffer_resource all_{on_stack_, sizeof on_stack_, std::pmr::new_delete_resource()};
};

}  // namespace homing::detail
