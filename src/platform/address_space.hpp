/// Taking memory from the kernel and giving it back, behind an interface, so that a test can refuse.
#pragma once

#include <cstddef>

#include "platform/mappings.hpp"

namespace homing::platform {

enum class huge_advice {
  wanted,   ///< MADV_HUGEPAGE
  unwanted  ///< MADV_NOHUGEPAGE
};

/// Threads: any. Sizes and addresses are multiples of the base page.
class address_space {
 public:
  address_space() = default;
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;
  virtual ~address_space() = default;

  /// Private zero-filled memory, untouched: `front` + `bytes` long, its byte `front` at a multiple of `alignment` (a
  /// power of two). An empty range if the kernel refuses.
  [[nodiscard]] virtual address_range map(std::size_t front, std::size_t bytes, std::size_t alignment) noexcept = 0;
  /// Of a whole range that map() gave.
  virtual void unmap(address_range range) noexcept = 0;
  /// madvise; returns 0 or the errno.
  [[nodiscard]] virtual int advise(address_range range, huge_advice advice) noexcept = 0;
  /// Writes a zero to a byte of an untouched page: the kernel places it as its policy says, or near the caller.
  virtual void touch(address page) noexcept = 0;
};

/// This process's.
[[nodiscard]] address_space& kernel_address_space() noexcept;
/// For tests: what kernel_address_space() gives from now on; null: the system's again. Nobody else calls it meanwhile.
void stand_in_for_address_space(address_space* other) noexcept;

}  // namespace homing::platform
