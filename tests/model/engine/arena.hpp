/// The heap of a model: begun anew with each execution, the same addresses in each, and nothing is used twice.
///
/// So an execution that is cut short leaks nothing, a replay finds its pointers where they were, and what is used after
/// its end holds `freed_byte`. Each thread has a part of its own: how far another one has come decides no address.
/// Not modelled: an address that a later object gets again.
#pragma once

#include <cstddef>
#include <cstdint>

namespace homing::model {

/// A model's wish, from one of its threads: arrays asked for with std::nothrow have no memory. Put back by the model.
extern bool memory_is_out;

}  // namespace homing::model

namespace homing::model::arena {

inline constexpr unsigned char freed_byte = 0xDD;

void begin() noexcept;
/// For the thread that runs; aborts with a message if a thread's part is full. Zeroed.
[[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
[[nodiscard]] bool contains(const void* address) noexcept;

}  // namespace homing::model::arena
