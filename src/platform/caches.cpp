#include "platform/caches.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

constexpr int index_count_max = 16;
constexpr std::size_t assumed_line_bytes = 64;

std::string folder_of(const std::string& root, cpu_id cpu, int index) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(static_cast<int>(cpu)) + "/cache/index" +
         std::to_string(index) + '/';
}

std::string line_of(const std::string& path) {
  std::string text = read_file(path).value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// A decimal number, and what follows it.
std::optional<std::uint64_t> number_in(std::string_view text, std::string_view& rest) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::string_view rest;
  const auto value = number_in(text, rest);
  return rest.empty() ? value : std::nullopt;
}

// "32768K": the kernel always writes K; M is taken too.
std::optional<std::uint64_t> size_in(std::string_view text) {
  std::string_view unit;
  const auto value = number_in(text, unit);
  if (!value || *value == 0 || *value > (std::uint64_t{1} << 40)) return std::nullopt;
  if (unit == "K") return *value << 10;
  if (unit == "M") return *value << 20;
  return unit.empty() ? value : std::nullopt;
}

std::optional<cache> read_cache(const std::string& folder) {
  if (line_of(folder + "type") == "Instruction") return std::nullopt;
  const auto level = whole_number(line_of(folder + "level"));
  const auto bytes = size_in(line_of(folder + "size"));
  const auto cpus = cpu_set::parse_list(line_of(folder + "shared_cpu_list"));
  if (!level || *level == 0 || *level > 9 || !bytes || !cpus || cpus->empty()) return std::nullopt;
  return cache{static_cast<int>(*level), *bytes, *cpus};
}

}  // namespace

std::vector<cache> last_level_caches(const cpu_set& cpus, const std::string& root) {
  std::vector<cache> found;
  for (const cpu_id cpu : cpus.ids()) {
    std::optional<cache> last;
    for (int index = 0; index < index_count_max; ++index) {
      auto one = read_cache(folder_of(root, cpu, index));
      if (one && (!last || one->level > last->level)) last = std::move(one);
    }
    if (last && std::find(found.begin(), found.end(), *last) == found.end()) found.push_back(std::move(*last));
  }
  return found;
}

std::size_t cache_line_bytes(cpu_id cpu, const std::string& root) {
  const auto bytes = whole_number(line_of(folder_of(root, cpu, 0) + "coherency_line_size"));
  const bool credible = bytes && *bytes >= 16 && *bytes <= 1024 && (*bytes & (*bytes - 1)) == 0;
  return credible ? static_cast<std::size_t>(*bytes) : assumed_line_bytes;
}

}  // namespace homing::platform
