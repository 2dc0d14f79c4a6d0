// Compiled for any x86-64, unlike the rest.
#include "cpu_check.hpp"

#include <unistd.h>

namespace programs {

#if defined(__x86_64__)
namespace {

// Before the constructors of static objects, which use what is asked for here.
__attribute__((constructor(101))) void look_at_cpu() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    return;
  }
  static constexpr char text[] =
      "this program is compiled for x86-64-v3 (AVX2, FMA, BMI2), which this CPU lacks: use one of 2013 or later, or "
      "build it with another -march in programs/CMakeLists.txt\n";
  static_cast<void>(!write(STDERR_FILENO, text, sizeof text - 1));
  _exit(2);
}

}  // namespace
#endif

void require_cpu() noexcept {}

}  // namespace programs
