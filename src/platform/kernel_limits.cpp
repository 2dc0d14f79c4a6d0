/// Lists of ids that the kernel prints in /proc and /sys.
#include "platform/kernel_limits.hpp"

#include <string_view>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

std::optional<cpu_set> cpu_list(const std::string& path) {
  const auto text = read_file(path);
  return text ? cpu_set::parse_list(*text) : std::nullopt;
}

}  // namespace

std::optional<node_set> allowed_memory_nodes(const std::string& root) {
  const auto status = read_file(root + "/proc/self/status");
  if (!status) return std::nullopt;
  constexpr std::string_view key = "\nMems_allowed_list:";
  const std::string_view text = *status;
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = text.substr(at + key.size());
  value = value.substr(0, value.find('\n'));
  const std::size_t start = value.find_first_not_of(" \t");
  if (start == std::string_view::npos) return std::nullopt;
  auto nodes = node_set::parse_list(value.substr(start));
  // A process without any memory node does not exist: an empty list is not an answer.
  if (nodes && nodes->empty()) return std::nullopt;
  return nodes;
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
