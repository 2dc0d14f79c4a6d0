/// Finding this process's control groups, and the limits on the way up from them.
#include "platform/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

constexpr std::size_t proc_file_bytes_max = 1 << 20;  // a host with thousands of mounts
constexpr std::size_t value_bytes_max = 256;

enum class hierarchy { v1, v2 };

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool lists(std::string_view comma_list, std::string_view word) {
  for (const auto part : split(comma_list, ',')) {
    if (part == word) return true;
  }
  return false;
}

// A positive decimal number and nothing else; 0 for anything else.
std::int64_t positive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0 ? value : 0;
}

std::optional<std::string> read_value(const std::string& path) {
  auto text = read_file(path, value_bytes_max);
  if (text && !text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const std::int64_t quota_us = positive(quota);
  const std::int64_t period_us = positive(period);
  // The kernel takes periods from 1 ms to 1 s and quotas from 1 ms; other figures are not its own.
  if (quota_us < 1000 || period_us < 1000 || period_us > 1000000) return std::nullopt;
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

// The quota that one group sets; nothing for "max", -1, or what is not understood.
std::optional<cpu_quota> quota_of_group(hierarchy version, const std::string& folder) {
  if (version == hierarchy::v2) {
    const std::string file = folder + "/cpu.max";
    const auto text = read_value(file);
    if (!text) return std::nullopt;
    const auto words = split(*text, ' ');
    if (words.size() != 2) return std::nullopt;
    const auto cpus = ratio(words[0], words[1]);
    return cpus ? std::optional(cpu_quota{*cpus, file}) : std::nullopt;
  }
  const std::string file = folder + "/cpu.cfs_quota_us";
  const auto quota = read_value(file);
  const auto period = read_value(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  const auto cpus = ratio(*quota, *period);
  return cpus ? std::optional(cpu_quota{*cpus, file}) : std::nullopt;
}

// mountinfo writes blanks, tabs, newlines and backslashes in paths as \ooo.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(&text[i + 1], &text[i + 1] + 3, value, 8);
      if (error == std::errc{} && end == &text[i + 1] + 3 && value < 256) {
        result += static_cast<char>(value);
        i += 3;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

struct mount {
  std::string root;   // the group that is seen at `point`
  std::string point;  // without the test's root
};

// The mount of a hierarchy that has a controller (version 2: all), from /proc/self/mountinfo:
// id parent major:minor root point options [tags] - type device super-options
std::optional<mount> find_mount(hierarchy version, std::string_view controller, std::string_view mountinfo) {
  for (const auto line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    const auto type = fields[dash + 1];
    const bool wanted =
        version == hierarchy::v2 ? type == "cgroup2" : type == "cgroup" && lists(fields[dash + 3], controller);
    if (wanted) return mount{unescape(fields[3]), unescape(fields[4])};
  }
  return std::nullopt;
}

// This process's group in a hierarchy, from /proc/self/cgroup: id:controllers:path
std::optional<std::string> find_group(hierarchy version, std::string_view controller, std::string_view groups) {
  for (const auto line : split(groups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool wanted =
        version == hierarchy::v2 ? line.substr(0, first) == "0" && controllers.empty() : lists(controllers, controller);
    if (wanted) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// Where `group` is below the mount point: "" for the mount point itself. A container sees its own
// group as the root of the mount, and a process moved out of its namespace a path with "..": then
// the mount point is all that can be seen.
std::string below_mount(const std::string& group, const std::string& mount_root) {
  std::string_view path = group;
  if (mount_root != "/") {
    if (!path.starts_with(mount_root)) return "";
    path.remove_prefix(mount_root.size());
  }
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (!path.empty() && path.front() != '/') return "";
  for (const auto part : split(path, '/')) {
    if (part == "..") return "";
  }
  return std::string(path);
}

// What says where a process's groups are, read once for both hierarchies. A host may have thousands of mounts.
struct group_files {
  explicit group_files(const std::string& root)
      : mountinfo(read_file(root + "/proc/self/mountinfo", proc_file_bytes_max)),
        groups(read_file(root + "/proc/self/cgroup", proc_file_bytes_max)) {}
  std::optional<std::string> mountinfo;
  std::optional<std::string> groups;
};

// The folders of this process's group and of those above it, in one hierarchy; none if it has no such controller.
std::vector<std::string> groups_upwards(hierarchy version, std::string_view controller, const std::string& root,
                                        const group_files& files) {
  if (!files.mountinfo || !files.groups) return {};
  const auto where = find_mount(version, controller, *files.mountinfo);
  const auto group = find_group(version, controller, *files.groups);
  if (!where || !group) return {};
  const std::string top = root + where->point;
  std::vector<std::string> folders;
  for (std::string below = below_mount(*group, where->root);;) {
    folders.push_back(top + below);
    if (below.empty()) return folders;
    below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
  }
}

std::optional<cpu_quota> smallest_quota(hierarchy version, const std::string& root, const group_files& files) {
  std::optional<cpu_quota> smallest;
  for (const std::string& folder : groups_upwards(version, "cpu", root, files)) {
    const auto quota = quota_of_group(version, folder);
    if (quota && (!smallest || quota->cpus < smallest->cpus)) smallest = quota;
  }
  return smallest;
}

// "name 123" among the lines of memory.stat; 0 if it is not there.
std::uint64_t statistic(const std::string& path, std::string_view name) {
  const std::string text = read_file(path).value_or("");
  for (const auto line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 2 && words[0] == name) return static_cast<std::uint64_t>(positive(words[1]));
  }
  return 0;
}

// What one group's limit leaves; nothing for "max", or what is not understood. Version 1 writes "no limit" as a figure
// near 2^63, which leaves more than any machine has.
std::optional<std::uint64_t> left_in_group(hierarchy version, const std::string& folder) {
  const bool v2 = version == hierarchy::v2;
  const auto limit = positive(read_value(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes")).value_or(""));
  const auto usage = positive(read_value(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(""));
  if (limit == 0) return std::nullopt;
  const std::uint64_t droppable = statistic(folder + "/memory.stat", v2 ? "inactive_file" : "total_inactive_file");
  const auto used = static_cast<std::uint64_t>(usage) - std::min(static_cast<std::uint64_t>(usage), droppable);
  return static_cast<std::uint64_t>(limit) - std::min(static_cast<std::uint64_t>(limit), used);
}

}  // namespace

std::optional<cpu_quota> read_cpu_quota(const std::string& root) {
  const group_files files(root);
  auto v2 = smallest_quota(hierarchy::v2, root, files);
  auto v1 = smallest_quota(hierarchy::v1, root, files);
  if (!v2 || (v1 && v1->cpus < v2->cpus)) return v1;
  return v2;
}

std::optional<std::uint64_t> read_memory_left(const std::string& root) {
  std::optional<std::uint64_t> least;
  const group_files files(root);
  for (const hierarchy version : {hierarchy::v2, hierarchy::v1}) {
    for (const std::string& folder : groups_upwards(version, "memory", root, files)) {
      const auto left = left_in_group(version, folder);
      if (left && (!least || *left < *least)) least = left;
    }
  }
  return least;
}

}  // namespace homing::platform
