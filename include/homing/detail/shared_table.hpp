/// A constant array that copies share, so that a distribution with weights or a named set is cheap to copy.
#pragma once

#include <homing/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace homing::detail {

/// The block behind a table: `values` of it, counted by its owners. Throws std::bad_alloc.
[[nodiscard]] HOMING_API const std::uint64_t* make_table(std::span<const std::uint64_t> values);
HOMING_API void retain_table(const std::uint64_t* values) noexcept;
HOMING_API void release_table(const std::uint64_t* values) noexcept;

/// Ownership: shared by count; the last owner frees it. The values never change.
/// Threads: distinct objects from any threads, as with std::shared_ptr. The empty table is a constant.
class shared_table {
 public:
  constexpr shared_table() noexcept = default;
  explicit shared_table(std::span<const std::uint64_t> values) : values_(make_table(values)), size_(values.size()) {}
  constexpr shared_table(const shared_table& other) noexcept : values_(other.values_), size_(other.size_) {
    if (values_ != nullptr) retain_table(values_);
  }
  constexpr shared_table(shared_table&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  constexpr shared_table& operator=(shared_table other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    return *this;
  }
  constexpr ~shared_table() {
    if (values_ != nullptr) release_table(values_);
  }

  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] constexpr std::span<const std::uint64_t> values() const noexcept { return {values_, size_}; }

 private:
  const std::uint64_t* values_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace homing::detail
