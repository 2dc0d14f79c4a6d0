/// Whether the sandbox around us grants the system calls that placement needs: found out by making them.
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "doctor/finding.hpp"
#include "platform/cpu_set.hpp"
#include "platform/kernel_limits.hpp"

namespace homing::cli {
namespace {

int errno_of(long result) { return result >= 0 ? 0 : errno; }

int try_perf(std::uint32_t type, std::uint64_t config) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = type;
  wanted.config = config;
  wanted.disabled = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  const long file = ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  const int error = errno_of(file);
  if (file >= 0) ::close(static_cast<int>(file));
  return error;
}

std::string reason(int error_number) {
  if (error_number == EPERM || error_number == EACCES) return "not permitted";
  if (error_number == ENOSYS) return "not in this kernel, or hidden by a sandbox";
  return std::strerror(error_number);
}

struct call_meaning {
  const char* name;
  health refused;
  const char* lost;  // what does not work then
  const char* advice;
};

constexpr const char* allow_numa =
    "Docker, containerd: add --cap-add SYS_NICE, or a seccomp profile that allows it; Podman allows it";
constexpr call_meaning meanings[] = {
    {"mbind", health::bad, "pages are placed by copying only, and run --membind and the like fail", allow_numa},
    {"set_mempolicy", health::warn, "run --interleave, --membind and --preferred fail", allow_numa},
    {"get_mempolicy", health::ok, "nothing of ours needs it", ""},
    {"move_pages", health::warn,
     "page locations are read from numa_maps, which is slower, and fine patterns are copied",
     "a seccomp profile that allows it (Docker and Podman refuse it even with SYS_NICE)"},
    {"migrate_pages", health::ok, "nothing of ours needs it; numactl's migratepages fails", ""},
    {"sched_setaffinity", health::bad, "workers can't be bound to their domains", "allow it in the seccomp profile"},
    {"membarrier", health::warn, "each look for work costs the busy threads a full fence",
     "allow it in the seccomp profile"},
    {"perf_event_open", health::ok,
     "run --report says \"not measured\" for memory traffic; it takes kernel.perf_event_paranoid at 2 or lower, "
     "and in a container a seccomp profile that allows it",
     ""},
    {"hardware events", health::ok,
     "run --report says \"not measured\" for memory traffic; virtual machines often have no events", ""},
};

}  // namespace

std::vector<call_answer> try_calls() {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return {};
  static_cast<volatile char*>(page)[0] = 1;
  std::vector<call_answer> answers;
  const auto add = [&](const char* name, int error) { answers.push_back({name, error}); };
  add("mbind", errno_of(::syscall(SYS_mbind, page, page_bytes, MPOL_DEFAULT, nullptr, 0UL, 0U)));
  int mode = 0;
  add("get_mempolicy", errno_of(::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL)));
  add("set_mempolicy", errno_of(::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL)));
  int status = 0;
  add("move_pages", errno_of(::syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &status, 0)));
  // From the nodes that we may use to themselves: nothing moves.
  auto nodes = platform::allowed_memory_nodes().value_or(platform::node_set{platform::node_id{0}});
  const auto words = nodes.words();
  const unsigned long bits = words.size() * sizeof(unsigned long) * CHAR_BIT + 1;
  add("migrate_pages", errno_of(::syscall(SYS_migrate_pages, 0, bits, words.data(), words.data())));
  const auto mask = platform::get_affinity();
  add("sched_setaffinity", mask.ok() ? platform::set_affinity(0, mask.mask).error_number : mask.error_number);
  add("membarrier", errno_of(::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0)));
  const int software = try_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  add("perf_event_open", software);
  if (software == 0) add("hardware events", try_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
  ::munmap(page, page_bytes);
  return answers;
}

std::vector<finding> judge_calls(const std::vector<call_answer>& answers) {
  std::vector<finding> result;
  std::string granted;
  for (const call_answer& answer : answers) {
    if (answer.error_number == 0) {
      granted += (granted.empty() ? "" : ", ") + std::string(answer.name);
      continue;
    }
    for (const call_meaning& meaning : meanings) {
      if (std::strcmp(meaning.name, answer.name) != 0) continue;
      result.push_back({meaning.refused, meaning.name,
                        fmt::format("refused ({}): {}", reason(answer.error_number), meaning.lost), meaning.advice});
    }
  }
  if (!granted.empty()) result.insert(result.begin(), {health::ok, "system calls", "granted: " + granted, ""});
  return result;
}

finding judge_events(const known_events& events) {
  const char* const topic = "memory traffic";
  if (events.set == nullptr) {
    return {health::ok, topic, events.reason + ": run --report says \"not measured\"", ""};
  }
  return {health::ok, topic, fmt::format("events of near and far memory are known for this CPU ({})", events.cpu), ""};
}

}  // namespace homing::cli
