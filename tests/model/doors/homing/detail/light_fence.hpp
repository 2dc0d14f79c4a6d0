/// <homing/detail/light_fence.hpp> in a model: the pair's light side, as the library's.
#pragma once

#include "sync/asymmetric_fence.hpp"

namespace homing::detail {

inline void light_fence(std::source_location at = std::source_location::current()) noexcept { sync::light_fence(at); }

}  // namespace homing::detail
