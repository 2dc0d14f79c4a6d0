/// Large pages of the host's for the model's tables: they are looked at in no order, so that with small pages most
/// looks would miss the host's address translation, too.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace homing::lab::model {

inline constexpr std::size_t huge_page_bytes = 2U << 20;

/// Asks for large pages in `bytes` at `memory`, a multiple of huge_page_bytes; if that is refused, they are small.
inline void ask_for_huge_pages(void* memory, std::size_t bytes) noexcept {
  madvise(memory, bytes / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
}

}  // namespace homing::lab::model
