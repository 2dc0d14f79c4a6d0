#include "topology/sysfs_reader.hpp"

#include <charconv>
#include <climits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/cpu_set.hpp"
#include "platform/files.hpp"

namespace homing::topology {
namespace {

using platform::cpu_set;
using platform::node_set;
using platform::read_file;

constexpr unsigned distance_local = 10;
constexpr unsigned distance_max = 255;

/// A decimal number, before white space only.
std::optional<int> number_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || std::string_view(stopped, end).find_first_not_of(" \n") != std::string_view::npos) {
    return std::nullopt;
  }
  return value;
}

/// A list that has some member.
template <class Set>
std::optional<Set> list_in(const std::string& path) {
  const auto text = read_file(path);
  auto members = text ? Set::parse_list(*text) : std::nullopt;
  return members && !members->empty() ? std::move(members) : std::nullopt;
}

/// "Node 0 MemTotal:       10971340 kB" of a node's meminfo, in bytes.
std::optional<std::uint64_t> memory_bytes_in(const std::string& path) {
  constexpr std::string_view key = "MemTotal:";
  const std::string text = read_file(path).value_or("");
  std::size_t at = text.find(key);
  at = at == std::string::npos ? at : text.find_first_not_of(' ', at + key.size());
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), kib);
  if (error != std::errc{} || !std::string_view(end).starts_with(" kB") || kib == 0 || kib > UINT64_MAX >> 10) {
    return std::nullopt;
  }
  return kib << 10;
}

/// Reads what it is asked, until something is not plain.
class sysfs_reader {
 public:
  explicit sysfs_reader(const std::string& root)
      : cpu_folder_(root + "/sys/devices/system/cpu/"), node_folder_(root + "/sys/devices/system/node/") {}

  std::optional<machine_facts> read() {
    const bool plain = find_cpus() && find_nodes() && find_sockets() && find_caches();
    if (!plain) return std::nullopt;
    facts_.this_system = true;
    facts_.lacks_cores = true;
    for (auto& [ignored, cpu] : cpus_) facts_.cpus.push_back(std::move(cpu));
    return std::move(facts_);
  }

 private:
  bool find_cpus() {
    const auto online = list_in<cpu_set>(cpu_folder_ + "online");
    if (!online) return false;
    online_ = *online;
    for (const cpu_id cpu : online_.ids()) {
      // The cpuset's CPUs are not asked for: no mask of a thread has others.
      cpus_.emplace(cpu, cpu_fact{cpu, -1, -1, -1, -1, -1, true, {}});
    }
    return true;
  }

  bool find_nodes() {
    const auto online = list_in<node_set>(node_folder_ + "online");
    if (!online || list_in<node_set>(node_folder_ + "has_cpu") != online ||
        list_in<node_set>(node_folder_ + "has_memory") != online) {
      return false;
    }
    const std::vector<node_id> nodes = online->ids();
    cpu_set found;
    for (const node_id node : nodes) {
      const std::string folder = node_folder_ + "node" + std::to_string(static_cast<int>(node)) + "/";
      const auto cpus = list_in<cpu_set>(folder + "cpulist");
      const auto bytes = memory_bytes_in(folder + "meminfo");
      if (!cpus || !bytes || !give(*cpus, static_cast<int>(facts_.nodes.size()), &cpu_fact::node)) return false;
      facts_.nodes.push_back({node, true, true, *bytes});
      found |= *cpus;
      if (nodes.size() > 1 && !read_distances(folder, nodes.size())) return false;
    }
    for (auto& [ignored, cpu] : cpus_) cpu.near_nodes = {cpu.node};
    return found == online_;
  }

  /// A row of the matrix; 10 in the diagonal and more elsewhere, as firmware has it.
  bool read_distances(const std::string& folder, std::size_t count) {
    const auto text = read_file(folder + "distance");
    if (!text) return false;
    const char* at = text->data();
    const char* const end = at + text->size();
    const std::size_t row = facts_.nodes.size() - 1;
    for (std::size_t to = 0; to != count; ++to) {
      while (at != end && *at == ' ') ++at;
      unsigned value = 0;
      const auto [stopped, error] = std::from_chars(at, end, value);
      if (error != std::errc{} || value > distance_max || (value == distance_local) != (to == row) ||
          value < distance_local) {
        return false;
      }
      at = stopped;
      facts_.distances.push_back(value);
    }
    return std::string_view(at, end).find_first_not_of(" \n") == std::string_view::npos;
  }

  /// Each CPU that has none yet speaks for all of its socket.
  bool find_sockets() {
    for (const auto& [id, cpu] : cpus_) {
      if (cpu.package >= 0) continue;
      const std::string folder = folder_of(id) + "topology/";
      auto cpus = list_in<cpu_set>(folder + "package_cpus_list");
      if (!cpus) cpus = list_in<cpu_set>(folder + "core_siblings_list");  // before Linux 5.3
      const auto number = number_in(folder + "physical_package_id");
      if (!cpus || !number || *number < 0 || !cpus->contains(id) || !give(*cpus, *number, &cpu_fact::package)) {
        return false;
      }
      // A second socket of that number, which hwloc may take for the same.
      if (!sockets_.emplace(*number, *cpus).second) return false;
    }
    return true;
  }

  /// The same for L3s: those of a machine are numbered by their first CPUs. All CPUs have one, or none has.
  bool find_caches() {
    int caches = 0;
    for (const auto& [id, cpu] : cpus_) {
      if (cpu.l3 >= 0) continue;
      const std::string folder = folder_of(id) + "cache/index3/";
      const auto level = number_in(folder + "level");
      if (!level) return caches == 0 && has_no_l3();
      const auto cpus = list_in<cpu_set>(folder + "shared_cpu_list");
      if (*level != 3 || !cpus || !cpus->contains(id) || !is_within_a_socket(*cpus, cpu.package) ||
          !give(*cpus, caches, &cpu_fact::l3)) {
        return false;
      }
      ++caches;
    }
    return true;
  }

  /// Where the first CPU has three caches, or two on some machines, and none of these is an L3.
  [[nodiscard]] bool has_no_l3() const {
    for (const char* index : {"cache/index0/", "cache/index1/", "cache/index2/"}) {
      const auto level = number_in(folder_of(cpus_.begin()->first) + index + "level");
      if (!level || *level >= 3) return false;
    }
    return true;
  }

  [[nodiscard]] bool is_within_a_socket(const cpu_set& cpus, int socket) const {
    const auto all = sockets_.find(socket);
    return all != sockets_.end() && (cpus & all->second) == cpus;
  }

  /// False if one of them is switched off, or has another number already.
  bool give(const cpu_set& cpus, int number, int cpu_fact::*what) {
    for (const cpu_id id : cpus.ids()) {
      const auto cpu = cpus_.find(id);
      if (cpu == cpus_.end() || cpu->second.*what >= 0) return false;
      cpu->second.*what = number;
    }
    return true;
  }

  [[nodiscard]] std::string folder_of(cpu_id cpu) const {
    return cpu_folder_ + "cpu" + std::to_string(static_cast<int>(cpu)) + "/";
  }

  const std::string cpu_folder_;
  const std::string node_folder_;
  cpu_set online_;
  std::map<cpu_id, cpu_fact> cpus_;
  std::map<int, cpu_set> sockets_;
  machine_facts facts_;
};

}  // namespace

std::optional<machine_facts> read_sysfs(const std::string& root) { return sysfs_reader(root).read(); }

}  // namespace homing::topology
