#include "runtime/thread/deep_stack.hpp"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <algorithm>

#include "platform/thread_stack.hpp"
#include "runtime/settings/control.hpp"

namespace homing::scheduler {
namespace {

/// A string that the kernel put above everything else in the process's first stack; 0: not known.
std::uintptr_t top_of_first_stack() noexcept { return ::getauxval(AT_EXECFN); }

/// The kernel maps nothing else within 128 MiB of that stack's top, however small its limit was. So an address this
/// near to the top is in it, on whichever thread: the child of a fork has the forking thread's stack.
constexpr std::size_t first_stack_alone_bytes = std::size_t{64} * 1024 * 1024;

deep_stack deep_part_of_first_stack(std::uintptr_t here, std::uintptr_t top) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0) limit.rlim_cur = RLIM_INFINITY;
  if (limit.rlim_cur == RLIM_INFINITY) {
    // It is used as if it were a worker's, and grows: all that far below is its own.
    const std::uintptr_t far_below = std::min(top, std::uintptr_t{1} << 40U);
    return {top - far_below, here - thread_stack_size() / 2};
  }
  const std::uintptr_t lowest = top - std::clamp<std::uintptr_t>(limit.rlim_cur, top - here, top);
  return {lowest, lowest + (here - lowest) / 2};
}

}  // namespace

deep_stack deep_part_of_this_stack(std::size_t made_bytes) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (const std::size_t rest = platform::rest_of_made_stack(here, made_bytes)) return {here - rest, here - rest / 2};
  // Asking pthreads for the first thread's stack would read all of /proc/self/maps.
  const std::uintptr_t top = top_of_first_stack();
  if (here < top && top - here < first_stack_alone_bytes) return deep_part_of_first_stack(here, top);
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {0, here - thread_stack_size() / 2};  // a guess
  void* lowest_byte = nullptr;
  std::size_t size = 0;
  ::pthread_attr_getstack(&attributes, &lowest_byte, &size);
  ::pthread_attr_destroy(&attributes);
  const auto lowest = reinterpret_cast<std::uintptr_t>(lowest_byte);
  const std::size_t free_bytes = here - lowest < size ? here - lowest : size;
  return {lowest, lowest + free_bytes / 2};
}

}  // namespace homing::scheduler
