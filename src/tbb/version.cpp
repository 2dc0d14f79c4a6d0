/// Which library this is: to a program that asks, and to a person who sets TBB_VERSION=1.
#include <oneapi/tbb/version.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <homing/version.hpp>

#define HOMING_VERSION_TEXT          \
  __TBB_STRING(HOMING_VERSION_MAJOR) \
  "." __TBB_STRING(HOMING_VERSION_MINOR) "." __TBB_STRING(HOMING_VERSION_PATCH)

// Programs that parse or compare the start find oneTBB's number; a reader finds whose library it is.
const char* TBB_runtime_version() { return TBB_VERSION_STRING "-homing"; }

int TBB_runtime_interface_version() { return TBB_INTERFACE_VERSION; }

namespace {

constexpr char version_lines[] = TBB_VERSION_STRINGS "Homing: VERSION\t\t" HOMING_VERSION_TEXT "\n";

/// Prints when the library is loaded, so exactly once a process.
[[maybe_unused]] const bool printed = [] {
  const char* const wish = ::secure_getenv("TBB_VERSION");
  if (wish == nullptr || *wish == '\0' || std::strcmp(wish, "0") == 0) {
    return false;
  }
  if (std::strcmp(wish, "1") != 0) {
    std::fprintf(stderr, "homing: TBB_VERSION=%.100s is not valid: expected 0 or 1; using 0\n", wish);
    return false;
  }
  std::fputs(version_lines, stderr);
  return true;
}();

}  // namespace
