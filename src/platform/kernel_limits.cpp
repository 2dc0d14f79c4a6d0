/// Lists of ids that the kernel prints in /proc and /sys.
#include "platform/kernel_limits.hpp"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

std::optional<cpu_set> cpu_list(const std::string& path) {
  const auto text = read_file(path);
  return text ? cpu_set::parse_list(*text) : std::nullopt;
}

// A list in the status of this process's first thread. A process without any CPU or memory node does not exist: an
// empty list is not an answer.
template <class Set>
std::optional<Set> list_of_status(const std::string& root, std::string_view key) {
  const auto status = read_file(root + "/proc/self/status");
  if (!status) return std::nullopt;
  const std::string_view text = *status;
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = text.substr(at + key.size());
  value = value.substr(0, value.find('\n'));
  const std::size_t start = value.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  auto members = Set::parse_list(value.substr(start));
  if (members && members->empty()) return std::nullopt;
  return members;
}

}  // namespace

std::optional<node_set> allowed_memory_nodes(const std::string& root) {
  return list_of_status<node_set>(root, "\nMems_allowed_list:");
}

process_mask read_process_mask(const std::string& root) {
  auto answer = get_affinity(::getpid());
  if (!answer.ok() || answer.mask.empty()) {
    auto own = get_affinity();
    if (own.ok() && !own.mask.empty()) answer = std::move(own);
  }
  if (answer.ok() && !answer.mask.empty()) return {std::move(answer.mask), 0};
  const int refused = answer.ok() ? EINVAL : answer.error_number;
  return {list_of_status<cpu_set>(root, "\nCpus_allowed_list:").value_or(cpu_set{}), refused};
}

cpu_set online_cpus(const std::string& root) {
  return cpu_list(root + "/sys/devices/system/cpu/online").value_or(cpu_set{});
}

cpu_set offline_cpus(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/cpu/";
  // Not the file "offline": it also lists CPUs that could exist but are not plugged in.
  const auto present = cpu_list(folder + "present");
  const auto online = cpu_list(folder + "online");
  if (!present || !online) return {};
  cpu_set result;
  for (const cpu_id cpu : present->ids()) {
    if (!online->contains(cpu)) result.add(cpu);
  }
  return result;
}

}  // namespace homing::platform
