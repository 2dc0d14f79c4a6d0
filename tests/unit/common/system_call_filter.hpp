/// System-call filters as Docker and Podman install them, for what they refuse of NUMA's calls. Also for guests of the
/// lab.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace homing::testing {

inline const std::vector<int> docker = {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages,
                                        SYS_migrate_pages};
inline const std::vector<int> podman = {SYS_move_pages, SYS_migrate_pages};

/// From here on the calls fail with `error`, in this process and its children, for ever. False if no filter can be set.
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

}  // namespace homing::testing
