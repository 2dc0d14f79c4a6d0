/// What happens when an assertion of oneTBB's headers, or of this library, fails.
#include <oneapi/tbb/detail/_assert.h>
#include <oneapi/tbb/global_control.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "sync/atomic.hpp"

namespace tbb::detail::r1 {
namespace {

namespace sync = homing::sync;

/// Prints one message and aborts. Threads that fail meanwhile wait for the end, so that the first message stays the
/// last word; the same thread again (a SIGABRT handler that asserts) aborts at once.
void report_and_abort(const char* location, int line, const char* expression, const char* comment) {
  static constinit sync::atomic<pid_t> reporter{0};
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  pid_t nobody = 0;
  // relaxed: the number alone matters, nothing is published with it.
  if (!reporter.compare_exchange_strong(nobody, self, sync::relaxed) && nobody != self) {
    for (;;) {
      ::pause();
    }
  }
  if (nobody == 0) {
    std::fprintf(stderr, "Assertion %s failed (located in the %s function, line in file: %d)\n", expression, location,
                 line);
    if (comment != nullptr) {
      std::fprintf(stderr, "Detailed description: %s\n", comment);
    }
    std::fflush(stderr);
  }
  std::abort();
}

constinit sync::atomic<assertion_handler_type> handler{&report_and_abort};

}  // namespace

void assertion_failure(const char* location, int line, const char* expression, const char* comment) {
  // acquire: what the thread that set the handler prepared for it is visible to the handler.
  handler.load(sync::acquire)(location, line, expression, comment);
}

/// Null restores the default. Returns the handler that was in use.
assertion_handler_type set_assertion_handler(assertion_handler_type new_handler) noexcept {
  // acq_rel: publishes the new handler's data to assertion_failure(), takes over the old one's.
  return handler.exchange(new_handler != nullptr ? new_handler : &report_and_abort, sync::acq_rel);
}

assertion_handler_type get_assertion_handler() noexcept { return handler.load(sync::acquire); }

}  // namespace tbb::detail::r1
