/// What the errors of the kernel's placement calls mean.
#pragma once

#include <homing/placement.hpp>

#include <cerrno>

namespace homing::memory {

/// Of a whole way: the kernel or a sandbox does not let this process make the call.
[[nodiscard]] inline bool is_refusal(int error) noexcept { return error == EPERM || error == ENOSYS; }

/// Of one page.
[[nodiscard]] inline refusal_cause cause_of(int error) noexcept {
  switch (error) {
    case EPERM:
    case ENOSYS:
      return refusal_cause::not_permitted;
    case EACCES:
      return refusal_cause::mapped_elsewhere;
    case ENOMEM:
      return refusal_cause::no_memory;
    case EBUSY:
    case EAGAIN:
      return refusal_cause::busy;
    case EFAULT:
      return refusal_cause::not_mapped;
    case EINVAL:
    case ENODEV:
      return refusal_cause::bad_node;
    default:
      return refusal_cause::elsewhere;
  }
}

}  // namespace homing::memory
