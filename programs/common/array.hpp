// An array in fresh pages of its own: untouched until a program's loops write to it, since where pages live is
// measured.
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace programs {

/// Ownership: of its pages and of what placing them set. Errors: std::bad_alloc. Threads: like a container.
template <class T>
class array {
  static_assert(std::is_trivially_copyable_v<T>, "its elements are never made: pages begin as zeros");

 public:
  array() noexcept = default;
  explicit array(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* const at = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(at);
  }
  array(array&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        data_(std::exchange(other.data_, nullptr)),
        placed_(std::move(other.placed_)) {}
  array& operator=(array&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(placed_, other.placed_);
    return *this;
  }
  ~array() {
    if (data_ == nullptr) return;
    placed_.release();  // the policy goes with the mapping
    munmap(data_, size_ * sizeof(T));
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] T* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] homing::memory_range range() const noexcept { return {data_, size_ * sizeof(T)}; }

  /// Moves the pages where a distribution of its elements says, and keeps them there.
  template <class Dist>
  const homing::placement_report& place(const Dist& dist) {
    placed_ = homing::enforce(dist, std::span<T>(data_, size_));
    return placed_.report();
  }

 private:
  std::size_t size_ = 0;
  T* data_ = nullptr;
  homing::placed_range placed_;
};

}  // namespace programs
