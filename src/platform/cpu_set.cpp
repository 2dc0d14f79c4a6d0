/// The affinity system calls, for masks of any length.
#include "platform/cpu_set.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <vector>

namespace homing::platform {

// The raw calls: the C library's wrappers hide how many bytes the kernel's mask has.
affinity_result get_affinity(pid_t thread) {
  constexpr std::size_t word_bytes = sizeof(unsigned long);
  constexpr std::size_t bytes_max = id_set<cpu_id>::id_count_max / 8;
  std::array<unsigned long, 1024 / 8 / word_bytes> mostly_enough;  // so that a new thread need not begin with a heap
  std::vector<unsigned long> more;
  for (std::span<unsigned long> words = mostly_enough;;) {
    const long written = ::syscall(SYS_sched_getaffinity, thread, words.size_bytes(), words.data());
    if (written >= 0) {
      return {cpu_set::from_words(words.first(static_cast<std::size_t>(written) / word_bytes))};
    }
    // EINVAL: the kernel knows more CPUs than fit.
    if (errno != EINVAL || words.size_bytes() >= bytes_max) return {{}, errno};
    more.resize(words.size() * 2);
    words = more;
  }
}

affinity_result set_affinity(pid_t thread, const cpu_set& wanted) {
  const int refused = restrict_to(thread, wanted);
  affinity_result now = get_affinity(thread);
  if (refused != 0) {
    now.error_number = refused;
    return now;
  }
  return now.ok() ? now : affinity_result{wanted};  // granted, but not to be read: a sandbox refuses one of the two
}

int restrict_to(pid_t thread, const cpu_set& wanted) noexcept {
  const auto words = wanted.words();
  return ::syscall(SYS_sched_setaffinity, thread, words.size_bytes(), words.data()) == 0 ? 0 : errno;
}

}  // namespace homing::platform
