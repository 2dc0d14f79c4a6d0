/// src/sync/asymmetric_fence.hpp in a model. What the kernel does for the pair is not modelled, only what it promises:
/// docs/protocols/sleep.md [S11].
#pragma once

#include <source_location>

#include "sync/atomic.hpp"

namespace homing::sync {

enum class company : bool { none, perhaps };
inline void prepare_asymmetric_fences(company /*others*/ = company::perhaps) noexcept {}

inline void light_fence(std::source_location at = std::source_location::current()) noexcept {
  if (model::running != nullptr) {
    model::running->light_fence(at);
  }
}

inline void heavy_fence(std::source_location at = std::source_location::current()) noexcept {
  if (model::running != nullptr) {
    model::running->heavy_fence(at);
  }
}

}  // namespace homing::sync
