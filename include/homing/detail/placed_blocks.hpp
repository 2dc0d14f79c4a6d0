/// The memory behind homing::distributed_resource: blocks in pages of their own, each placed along a distribution.
#pragma once

#include <homing/distribution.hpp>
#include <homing/export.hpp>
#include <homing/memory_options.hpp>
#include <homing/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace homing::detail {

/// Threads: any. Errors: std::bad_alloc; see distributed_resource.
class HOMING_API placed_blocks {
 public:
  explicit placed_blocks(const memory_options& options);
  placed_blocks(const placed_blocks&) = delete;
  placed_blocks& operator=(const placed_blocks&) = delete;
  /// Says so if blocks are alive.
  ~placed_blocks();

  /// `runs` is over bytes.
  [[nodiscard]] void* allocate(const run_source& runs, std::size_t bytes, std::size_t alignment);
  void deallocate(void* block, std::size_t bytes) noexcept;
  [[nodiscard]] memory_usage usage() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A distribution of elements as one of bytes; the last home goes on for ever, to the end of the last page.
template <class Dist>
struct byte_runs {
  const Dist& along;
  std::size_t element_bytes;
  std::size_t elements;

  [[nodiscard]] run_source source() const noexcept {
    return {this, [](const void* self, std::size_t position, std::size_t last) {
              return static_cast<const byte_runs*>(self)->run(position, last);
            }};
  }

 private:
  [[nodiscard]] piece run(std::size_t position, std::size_t last) const {
    std::size_t known = elements;
    if constexpr (requires {
                    { along.size() } -> std::convertible_to<std::size_t>;
                  }) {
      known = std::min<std::size_t>(known, along.size());
    }
    if (known == 0) return {position, last, std::nullopt};
    const std::size_t element = std::min(position / element_bytes, known - 1);
    const piece found = run_at(along, element, known);
    if (found.last == known) return {position, last, found.home};
    return {position, std::min(last, found.last * element_bytes), found.home};
  }
};

}  // namespace homing::detail
