#include "sync/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace homing::sync {

namespace detail {

bool membarrier_available = false;

void membarrier_or_fence() noexcept {
  if (membarrier_available) {
    // Cannot fail once registered: the flags are constant and the registration lasts as long as the process.
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
  full_fence();
}

}  // namespace detail

void prepare_asymmetric_fences() noexcept {
  // A refusal (old kernel, seccomp) needs no report: both sides then use a full fence, which is slower, never wrong.
  detail::membarrier_available = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace homing::sync
