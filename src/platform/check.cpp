#include "platform/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace homing::platform {

void invariant_broken(const char* promise) noexcept {
  std::fprintf(stderr, "homing: broken inside: %s. This is a defect of Homing; please report it with this line.\n",
               promise);
  std::fflush(stderr);
  std::abort();
}

}  // namespace homing::platform
