/// What kernel settings and limits do to a NUMA program.
#include <fmt/format.h>

#include "doctor/finding.hpp"
#include "topology/view.hpp"

namespace homing::cli {
namespace {

std::string list(const std::vector<topology::node_id>& nodes) {
  platform::node_set set;
  for (const auto node : nodes) set.add(node);
  return set.list();
}

std::string plural(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

finding judge_balancing(const std::optional<std::string>& text, std::size_t node_count) {
  const char* const topic = "numa_balancing";
  if (!text)
    return {health::ok, topic, "the kernel has no automatic NUMA balancing: pages stay where they are put", ""};
  if (text->starts_with('0')) return {health::ok, topic, "off: pages stay where they are put", ""};
  if (node_count < 2) return {health::ok, topic, "on, and without effect on one node", ""};
  return {health::warn, topic,
          "on: the kernel moves pages without a policy of their own behind the program's back, and faults to find out",
          "while measuring: sysctl kernel.numa_balancing=0; placed ranges are left alone in any case"};
}

finding judge_huge_pages(const std::optional<std::string>& text) {
  const char* const topic = "huge pages";
  if (!text)
    return {health::ok, topic, "the kernel has no transparent huge pages: placement's grain is the base page", ""};
  if (text->find("[always]") != std::string::npos) {
    return {
        health::warn, topic, "transparent huge pages everywhere: placement's grain is 2 MiB, and small blocks share it",
        "for blocks below 2 MiB a domain: madvise instead of always in /sys/kernel/mm/transparent_hugepage/enabled"};
  }
  if (text->find("[madvise]") != std::string::npos) {
    return {health::ok, topic, "transparent huge pages on request (madvise): the program decides", ""};
  }
  return {health::ok, topic,
          "no transparent huge pages: placement's grain is the base page, large arrays cost more TLB misses", ""};
}

std::vector<finding> judge_machine(const topology::machine& m) {
  std::vector<finding> result;
  const topology::limits& cut = m.cut();
  const auto add = [&](health status, const char* topic, std::string says, const char* advice = "") {
    result.push_back({status, topic, std::move(says), advice});
  };
  if (m.is_virtual()) {
    add(health::warn, "machine", "made up (virtual): threads run on other CPUs than it says, and no page really moves",
        "unset HOMING_TOPOLOGY, HWLOC_SYNTHETIC and HWLOC_XMLFILE for real work");
  }
  if (m.domains().size() == 1) {
    add(health::ok, "domains",
        fmt::format("one, with {}: placement has nothing to choose", plural(m.usable_cpus(), "CPU")));
  } else {
    add(health::ok, "domains", fmt::format("{}, with {}", m.domains().size(), plural(m.usable_cpus(), "CPU")));
  }
  if (m.domains().size() > 1 && !m.distances_known()) {
    add(health::warn, "distances", "not told by the firmware: all other nodes count as equally far",
        "measure with homing latency");
  }
  if (cut.kind_unknown) {
    add(health::warn, "domains", "the machine does not report the kind that HOMING_DOMAIN asks for: domains are nodes",
        "unset HOMING_DOMAIN");
  }
  if (cut.offline_cpus > 0) add(health::warn, "offline CPUs", plural(cut.offline_cpus, "CPU") + " switched off", "");
  if (cut.cut_by_cpuset > 0) {
    add(health::ok, "cpuset", fmt::format("takes {} of {}", cut.cut_by_cpuset, plural(cut.machine_cpus, "CPU")));
  }
  if (cut.cut_by_affinity > 0) {
    add(health::ok, "affinity mask",
        fmt::format("takes {} of {}", cut.cut_by_affinity, plural(cut.machine_cpus, "CPU")));
  }
  if (cut.mask_refused != 0) {
    add(health::warn, "affinity mask", topology::mask_sentence(cut), "allow sched_getaffinity in the seccomp profile");
  }
  if (cut.mask_ignored) {
    add(health::bad, "affinity mask", "has no CPU of the machine that is claimed to be this one, and was ignored",
        "unset HWLOC_THISSYSTEM, or give the description of this computer");
  }
  if (cut.quota_cpus) {
    const bool narrow = *cut.quota_cpus < m.usable_cpus();
    add(narrow ? health::warn : health::ok, "CPU quota",
        fmt::format("{:.2f} CPUs ({}){}", *cut.quota_cpus, cut.quota_file,
                    narrow ? ": threads beyond it are stopped for parts of each period, with the locks they hold" : ""),
        narrow ? "a cpuset of that many CPUs (Kubernetes: the static CPU manager) keeps threads and memory together"
               : "");
  }
  if (cut.thread_limit)
    add(health::ok, "HOMING_THREADS", fmt::format("at most {} by default", plural(*cut.thread_limit, "thread")));
  if (!cut.nodes_without_memory.empty()) {
    add(health::warn, "memory-less nodes",
        fmt::format("node {} has no memory: what is near its CPUs comes from the nearest node that has some",
                    list(cut.nodes_without_memory)),
        "check that each socket has memory modules; otherwise nothing");
  }
  if (!cut.nodes_without_cpus.empty()) {
    add(health::ok, "memory tiers",
        fmt::format("node {} is memory only: it is used when named, never by default", list(cut.nodes_without_cpus)));
  }
  if (!cut.forbidden_memory.empty()) {
    add(health::warn, "memory nodes",
        fmt::format("the cpuset forbids the memory of node {}: CPUs there use another node's",
                    list(cut.forbidden_memory)),
        "give the cpuset (cpuset.mems) the nodes of its CPUs");
  }
  return result;
}

}  // namespace homing::cli
