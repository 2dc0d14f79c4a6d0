/// The end of a program that broke a rule of the public interface.
#include <homing/detail/fault.hpp>

#include <cstdlib>

#include "platform/env.hpp"

namespace homing::detail {

void programmers_error(const char* function, const char* message) noexcept {
  platform::warn("%s: %s", function, message);
  std::abort();
}

}  // namespace homing::detail
