/// The version string of the library that is loaded.
#include <homing/version.hpp>

#define HOMING_TEXT_OF(x) #x
#define HOMING_TEXT(x) HOMING_TEXT_OF(x)

namespace homing {

const char* version() noexcept {
  return HOMING_TEXT(HOMING_VERSION_MAJOR) "." HOMING_TEXT(HOMING_VERSION_MINOR) "." HOMING_TEXT(HOMING_VERSION_PATCH);
}

}  // namespace homing
