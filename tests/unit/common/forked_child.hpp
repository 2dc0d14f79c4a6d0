/// A child of fork() whose body has to come true: it ends by itself, or its alarm ends it. And what the sanitizers'
/// own runtimes do not allow of children.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_TSAN() GTEST_SKIP() << "ThreadSanitizer ends children of processes with several threads"
#else
#define SKIP_UNDER_TSAN() static_cast<void>(0)
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SKIP_UNDER_ASAN() GTEST_SKIP() << "AddressSanitizer (GCC 12) forks while others hold its allocator's locks"
#else
#define SKIP_UNDER_ASAN() static_cast<void>(0)
#endif

namespace homing::testing {

/// Waits for a child's end; true if it was right.
inline bool has_ended_well(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  EXPECT_FALSE(WIFSIGNALED(status)) << "a child was ended by signal " << WTERMSIG(status)
                                    << (WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  return status == 0;
}

/// Forks; true for the parent if the child's `body` was true. A child that hangs is ended by its alarm.
template <typename Body>
bool child_can(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  return has_ended_well(child);
}

}  // namespace homing::testing
