/// System-call filters as Docker and Podman install them, around checks that run in a child process.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

namespace homing::testing {

inline const std::vector<int> docker = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages,
                                        SYS_migrate_pages};
inline const std::vector<int> podman = {SYS_move_pages, SYS_migrate_pages};

// From here on the calls fail with `error`, in this process, for ever.
inline bool refuse(const std::vector<int>& calls, int error) {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

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
