#include "run/policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "common/node_list.hpp"
#include "common/process.hpp"
#include "platform/cpu_set.hpp"
#include "platform/files.hpp"
#include "platform/kernel_limits.hpp"

namespace homing::cli {
namespace {

using platform::node_set;

// Nodes that have memory which this process may use.
node_set memory_nodes() {
  const auto text = platform::read_file("/sys/devices/system/node/has_memory");
  const auto with_memory = text ? node_set::parse_list(*text) : std::nullopt;
  const auto allowed = platform::allowed_memory_nodes();
  if (!with_memory) return allowed.value_or(node_set{});
  return allowed ? *allowed & *with_memory : *with_memory;
}

std::string named(const char* option, const std::string& text, const std::string& what) {
  return std::string(option) + ' ' + text + ": " + what;
}

std::string refused(const char* call, int error_number) {
  return std::string("the kernel refuses ") + call + " (" + std::strerror(error_number) + "); homing doctor says more";
}

// A list of nodes as an option has it; not asked for without text.
struct asked_nodes {
  const char* option;
  const std::string& text;
  node_list list{};

  /// Returns an error, or nothing.
  [[nodiscard]] std::optional<std::string> read(const node_set& usable, const asked_nodes& before) {
    if (text.empty()) return std::nullopt;
    list = parse_nodes(text, usable, {.same = before.list.nodes.empty() ? nullptr : &before.list.nodes});
    return list.error.empty() ? std::nullopt : std::optional(std::string(option) + ": " + list.error);
  }
};

std::optional<std::string> set_memory(const asked_nodes& asked, int mode) {
  if (asked.text.empty()) return std::nullopt;
  const auto words = asked.list.nodes.words();
  // The raw call reads one bit less than it is told: bits + 1.
  const unsigned long bits = words.size() * sizeof(unsigned long) * CHAR_BIT + 1;
  if (::syscall(SYS_set_mempolicy, mode, words.data(), bits) != 0)
    return named(asked.option, asked.text, refused("set_mempolicy", errno));
  return std::nullopt;
}

std::optional<std::string> set_cpus(const asked_nodes& asked, const node_of_cpu& nodes,
                                    const platform::cpu_set& before) {
  if (asked.text.empty()) return std::nullopt;
  platform::cpu_set cpus;
  for (const auto cpu : before.ids()) {
    const int node = nodes(static_cast<int>(cpu));
    if (node >= 0 && asked.list.nodes.contains(static_cast<platform::node_id>(node))) cpus.add(cpu);
  }
  const platform::affinity_result after = platform::set_affinity(0, cpus);
  if (!after.ok()) return named(asked.option, asked.text, refused("sched_setaffinity", after.error_number));
  if (!(after.mask == cpus)) {
    return named(asked.option, asked.text, "the kernel granted the CPUs " + after.mask.list() + " only");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> apply(const policy_request& request) {
  if (request.empty()) return std::nullopt;
  const bool interleaves = !request.interleave.empty();
  const bool binds = !request.membind.empty();
  const int mode = interleaves ? MPOL_INTERLEAVE : binds ? MPOL_BIND : MPOL_PREFERRED;
  asked_nodes memory{interleaves ? "--interleave"
                     : binds     ? "--membind"
                                 : "--preferred",
                     interleaves ? request.interleave
                     : binds     ? request.membind
                                 : request.preferred};
  asked_nodes cpus{"--cpunodebind", request.cpunodebind};
  const node_of_cpu nodes;
  const platform::affinity_result before = platform::get_affinity();
  if (!cpus.text.empty() && !before.ok()) {
    return named(cpus.option, cpus.text, refused("sched_getaffinity", before.error_number));
  }
  // Both are read before one is set, in the order in which they were written: that is what `same` means.
  const std::string none;
  const asked_nodes nothing{"", none};
  const auto read_memory = [&] { return memory.read(memory_nodes(), request.cpus_first ? cpus : nothing); };
  const auto read_cpus = [&] { return cpus.read(nodes.of(before.mask), request.cpus_first ? nothing : memory); };
  auto error = request.cpus_first ? read_cpus() : read_memory();
  if (!error) error = request.cpus_first ? read_memory() : read_cpus();
  if (error) return error;
  if (mode == MPOL_PREFERRED && !memory.text.empty() && memory.list.nodes.count() != 1) {
    return named(memory.option, memory.text, "expected one node");
  }
  error = set_memory(memory, mode);
  return error ? error : set_cpus(cpus, nodes, before.mask);
}

}  // namespace homing::cli
