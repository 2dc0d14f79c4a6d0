#include "surroundings.hpp"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace programs {
namespace {

constexpr int numbers_max = 4096;

// A list such as 0-3,8 of sysfs; nothing if it is none.
std::optional<std::vector<int>> listed(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  std::vector<int> found;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc{} && read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{} || first < 0 || last < first || last >= numbers_max) return std::nullopt;
    for (int n = first; n <= last; ++n) found.push_back(n);
    at = read.ptr + (read.ptr < end && *read.ptr == ',' ? 1 : 0);
  }
  return found;
}

std::string set_policy(int mode, const std::vector<int>& nodes) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, numbers_max / bits> mask{};
  for (const int n : nodes) mask[static_cast<std::size_t>(n) / bits] |= 1UL << (static_cast<std::size_t>(n) % bits);
  if (::syscall(SYS_set_mempolicy, mode, mask.data(), numbers_max + 1) == 0) return {};
  return std::string("set_mempolicy: ") + std::strerror(errno);
}

// The CPUs of a node that this thread has; empty with a reason if there are none.
std::string cpus_of(int node, cpu_set_t& wanted) {
  const auto cpus = listed("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  if (!cpus || cpus->empty()) return "node " + std::to_string(node) + " has no CPUs here";
  cpu_set_t had;
  CPU_ZERO(&wanted);
  if (::sched_getaffinity(0, sizeof had, &had) != 0) return std::string("sched_getaffinity: ") + std::strerror(errno);
  for (const int cpu : *cpus) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &had)) CPU_SET(cpu, &wanted);
  }
  return CPU_COUNT(&wanted) > 0 ? "" : "this process may use no CPU of node " + std::to_string(node);
}

std::string keep_to(int node) {
  cpu_set_t wanted;
  if (std::string refused = cpus_of(node, wanted); !refused.empty()) return refused;
  if (::sched_setaffinity(0, sizeof wanted, &wanted) == 0) return {};
  return std::string("sched_setaffinity: ") + std::strerror(errno);
}

}  // namespace

std::string apply(const surroundings& s) {
  if (s.cpu_node) {
    if (const std::string refused = keep_to(*s.cpu_node); !refused.empty()) return "--cpus: " + refused;
  }
  if (s.pages == page_policy::first_touch) return {};
  const std::vector<int> with_memory = nodes_with_memory();
  const std::string refused = with_memory.empty()                  ? "the kernel shows no nodes with memory"
                              : s.pages == page_policy::interleave ? set_policy(MPOL_INTERLEAVE, with_memory)
                                                                   : set_policy(MPOL_BIND, {s.memory_node});
  return refused.empty() ? "" : "--placement: " + refused;
}

std::vector<int> nodes_with_memory() {
  return listed("/sys/devices/system/node/has_memory").value_or(std::vector<int>());
}

std::vector<int> nodes_with_cpus() {
  std::vector<int> nodes = listed("/sys/devices/system/node/has_cpu").value_or(std::vector<int>());
  std::erase_if(nodes, [](int node) {
    cpu_set_t unused;
    return !cpus_of(node, unused).empty();
  });
  return nodes;
}

int count_cpus(const std::vector<int>& nodes) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const int node : nodes) {
    cpu_set_t own;
    if (cpus_of(node, own).empty()) CPU_OR(&all, &all, &own);
  }
  return CPU_COUNT(&all);
}

}  // namespace programs
