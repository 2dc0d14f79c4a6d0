#include "platform/node_memory.hpp"

#include <charconv>
#include <string_view>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

// "Node 0 MemFree:        23837444 kB" in a node's meminfo; without the node in the system's.
std::optional<std::uint64_t> field(std::string_view text, std::string_view name) {
  const std::string key = std::string(name) + ":";
  std::size_t at = text.find(key);
  while (at != std::string_view::npos && at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n')
    at = text.find(key, at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const std::size_t digits = text.find_first_not_of(' ');
  if (digits == std::string_view::npos) return std::nullopt;
  text.remove_prefix(digits);
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
  if (error != std::errc{} || kib > (std::uint64_t{1} << 50)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return text.starts_with(" kB") ? std::optional(kib << 10) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> available_bytes(node_id node, const std::string& root) {
  const auto text =
      read_file(root + "/sys/devices/system/node/node" + std::to_string(static_cast<int>(node)) + "/meminfo");
  if (!text) return std::nullopt;
  const auto free = field(*text, "MemFree");
  if (!free) return std::nullopt;
  return *free + field(*text, "Inactive(file)").value_or(0);
}

std::optional<std::uint64_t> available_bytes_of_system(const std::string& root) {
  const auto text = read_file(root + "/proc/meminfo");
  return text ? field(*text, "MemAvailable") : std::nullopt;
}

}  // namespace homing::platform
