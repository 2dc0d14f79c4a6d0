#include "policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "node_list.hpp"
#include "platform/cpu_set.hpp"
#include "platform/files.hpp"
#include "platform/kernel_limits.hpp"
#include "where/process.hpp"

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

std::optional<std::string> set_memory(const char* option, int mode, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const node_list list = parse_nodes(text, memory_nodes());
  if (!list.error.empty()) return std::string(option) + ": " + list.error;
  if (mode == MPOL_PREFERRED && list.nodes.count() != 1) return named(option, text, "expected one node");
  const auto words = list.nodes.words();
  // The raw call reads one bit less than it is told: bits + 1.
  const unsigned long bits = words.size() * sizeof(unsigned long) * CHAR_BIT + 1;
  if (::syscall(SYS_set_mempolicy, mode, words.data(), bits) != 0)
    return named(option, text, refused("set_mempolicy", errno));
  return std::nullopt;
}

std::optional<std::string> set_cpus(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const char* const option = "--cpunodebind";
  const node_of_cpu nodes;
  const platform::affinity_result before = platform::get_affinity();
  if (!before.ok()) return named(option, text, refused("sched_getaffinity", before.error_number));
  const node_list list = parse_nodes(text, nodes.of(before.mask));
  if (!list.error.empty()) return std::string(option) + ": " + list.error;
  platform::cpu_set cpus;
  for (const auto cpu : before.mask.ids()) {
    const int node = nodes(static_cast<int>(cpu));
    if (node >= 0 && list.nodes.contains(static_cast<platform::node_id>(node))) cpus.add(cpu);
  }
  const platform::affinity_result after = platform::set_affinity(0, cpus);
  if (!after.ok()) return named(option, text, refused("sched_setaffinity", after.error_number));
  if (!(after.mask == cpus)) return named(option, text, "the kernel granted the CPUs " + after.mask.list() + " only");
  return std::nullopt;
}

}  // namespace

std::optional<std::string> apply(const policy_request& request) {
  // The CPUs last: lists of memory nodes don't depend on them.
  if (auto error = set_memory("--interleave", MPOL_INTERLEAVE, request.interleave)) return error;
  if (auto error = set_memory("--membind", MPOL_BIND, request.membind)) return error;
  if (auto error = set_memory("--preferred", MPOL_PREFERRED, request.preferred)) return error;
  return set_cpus(request.cpunodebind);
}

}  // namespace homing::cli
