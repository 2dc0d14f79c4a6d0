/// System-call filters around checks that run in a child process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <vector>

#include "unit/common/system_call_filter.hpp"

namespace homing::testing {

inline constexpr int no_filter = 77;

// Runs the checks in a child; their failures are printed there and make the test fail here.
inline void in_sandbox(const std::vector<int>& calls, const std::function<void(int error)>& checks) {
  for (const int error : {EPERM, ENOSYS}) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!refuse(calls, error)) ::_exit(no_filter);
      checks(error);
      std::fflush(nullptr);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "no filter can be installed here";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "errno " << error << ", status " << status;
  }
}

}  // namespace homing::testing
