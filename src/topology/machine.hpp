/// The machine as this process may use it: domains, their CPUs, and how far apart they are.
#pragma once

#include <homing/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/cpu_set.hpp"
#include "topology/cpu_places.hpp"
#include "topology/ids.hpp"

namespace homing::topology {

struct machine_facts;  // what hwloc says, before any cut: topology/facts.hpp
struct source;         // where to read from: topology/source.hpp

/// A set of CPUs that share one mailbox.
struct domain {
  node_id node;                                ///< the node its CPUs belong to; of a socket with several, the lowest
  node_id memory_node;                         ///< where its memory comes from: `node`, or the nearest that has some
  std::vector<cpu_id> cpus;                    ///< CPUs this process may use, of the described machine, ascending
  platform::cpu_set binding;                   ///< real CPUs to bind a worker of this domain to; never empty
  std::vector<std::vector<cpu_id>> l3_groups;  ///< `cpus` by shared L3; one group if none is known
  bool has_memory;                             ///< false: `node` has no memory, or none that we may use
  int package;                                 ///< OS id of the socket, -1 if unknown
  bool nodeless;                               ///< no node has its CPUs: `node` is one that lends its memory
};

/// A NUMA node, whether or not it has a domain.
struct node {
  node_id id;
  node_memory memory;
  std::uint64_t memory_bytes;  ///< 0 if absent or unknown
  std::vector<cpu_id> cpus;    ///< CPUs this process may use, ascending
  bool is_tier;                ///< memory, and no CPU of the machine
  node_index nearest_memory;   ///< itself, or the nearest node whose memory is usable; itself if none is
};

/// oneTBB's task_arena::constraints without max_concurrency; -1 means any.
struct constraints_query {
  int numa_id = -1;
  int core_type = -1;  ///< one id, or several in oneTBB's multi-core-type encoding
  int max_threads_per_core = -1;
  friend bool operator==(const constraints_query&, const constraints_query&) = default;
};

/// What this process may not use, and what took it away. Counts are CPUs of the described machine.
struct limits {
  unsigned machine_cpus = 0;  ///< CPUs that are switched on
  unsigned offline_cpus = 0;
  unsigned cut_by_cpuset = 0;        ///< the cgroup's cpuset
  unsigned cut_by_affinity = 0;      ///< the process's mask, beyond what the cpuset took
  std::optional<double> quota_cpus;  ///< cgroup quota in CPUs
  std::string quota_file;
  std::optional<unsigned> thread_limit;   ///< HOMING_THREADS
  std::vector<node_id> forbidden_memory;  ///< nodes whose memory this process may not use
  std::vector<node_id> nodes_without_memory;
  std::vector<node_id> nodes_without_cpus;  ///< memory tiers: no domain
  bool mask_ignored = false;                ///< the mask would have left no CPU of a machine claimed to be this one
  int mask_refused = 0;       ///< errno of a refused sched_getaffinity(2): the mask is that of /proc, if `mask_known`
  bool mask_known = true;     ///< false: nobody says the mask, so that all CPUs of the cpuset count
  bool kind_unknown = false;  ///< the machine reports nothing of the asked kind: domains are nodes
};

/// One sentence on a mask that could not be read. Only if mask_refused.
[[nodiscard]] std::string mask_sentence(const limits& cut);

/// An immutable snapshot. Every call from any thread; nothing here allocates unless it returns a
/// container, or is the first to ask for cores. A domain_index must be one of domains().
class machine {
 public:
  machine(machine&&) = default;
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  machine& operator=(machine&&) = delete;
  ~machine() = default;

  /// Domains with at least one usable CPU, by node, then by first CPU. Never empty.
  [[nodiscard]] std::span<const domain> domains() const noexcept { return domains_; }
  [[nodiscard]] const domain& at(domain_index d) const noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] domain_kind kind() const noexcept { return kind_; }

  /// As firmware tables have it: 10 is local, 255 unreachable. Not symmetric in general.
  /// Where the machine does not say: 10 inside a node, 20 outside.
  [[nodiscard]] unsigned distance(domain_index from, domain_index to) const noexcept {
    return distances_[to_index(from) * domains_.size() + to_index(to)];
  }
  /// All domains, from itself outward: by distance, then same socket first, then the next higher
  /// index, wrapping around, so that not everybody picks the same one first.
  [[nodiscard]] std::span<const domain_index> nearest_first(domain_index from) const noexcept {
    return std::span(nearest_).subspan(to_index(from) * domains_.size(), domains_.size());
  }

  /// CPUs left after offline CPUs, cpuset and affinity mask; >= 1.
  [[nodiscard]] unsigned usable_cpus() const noexcept { return usable_cpus_; }
  /// min(usable_cpus, quota rounded up, HOMING_THREADS), >= 1. A made-up machine's is its CPU count or
  /// HOMING_THREADS: the real machine's mask and quota don't cut it.
  [[nodiscard]] unsigned default_concurrency() const noexcept { return default_concurrency_; }
  /// A made-up machine: binding goes to real CPUs dealt round-robin, page homes are bookkept.
  [[nodiscard]] bool is_virtual() const noexcept { return virtual_; }
  /// The domain of a real CPU, as platform::current_cpu() gives it. Nothing on a virtual machine,
  /// and for a CPU that this process was not allowed to use when the snapshot was taken.
  [[nodiscard]] std::optional<domain_index> domain_of_cpu(cpu_id cpu) const noexcept;

  /// All nodes, ascending by OS id. Never empty.
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] unsigned distance(node_index from, node_index to) const noexcept {
    return node_distances_[to_index(from) * nodes_.size() + to_index(to)];
  }
  [[nodiscard]] bool distances_known() const noexcept { return distances_known_; }
  /// A figure of `to`'s memory seen from `from`. Only of a machine that was read with its figures: source::figures.
  [[nodiscard]] std::optional<std::uint64_t> attribute(memory_attribute what, domain_index from,
                                                       node_index to) const noexcept;

  // --- for oneTBB's info:: and constraints ---
  /// OS ids of nodes with usable CPUs, ascending. Never empty.
  [[nodiscard]] std::span<const int> numa_ids() const noexcept { return numa_ids_; }
  /// Core types with usable CPUs, ascending efficiency (hwloc's CPU kinds); {0} if all are alike.
  [[nodiscard]] std::span<const int> core_type_ids() const noexcept { return with_cores().core_types; }
  /// How many threads satisfy the constraints, at most default_concurrency(); 0 for an unknown id.
  [[nodiscard]] unsigned concurrency(const constraints_query& query) const;
  /// The most threads that share a core under the constraints; 0 for an unknown id.
  [[nodiscard]] unsigned threads_per_core(const constraints_query& query) const;
  /// For each domain, how many of its CPUs satisfy the constraints (the quota is not applied).
  [[nodiscard]] std::vector<unsigned> allowed_cpus_by_domain(const constraints_query& query) const;
  /// The same, written to one count for each domain.
  void count_allowed_cpus(const constraints_query& query, std::span<unsigned> by_domain) const noexcept;

  [[nodiscard]] const limits& cut() const noexcept { return limits_; }
  /// A drawing in text, a line a domain; says "virtual" on a made-up machine.
  [[nodiscard]] std::string describe() const;

 private:
  friend class machine_builder;
  machine() = default;

  // The places, with cores and core types, which may be read now.
  [[nodiscard]] const cpu_places& with_cores() const noexcept;
  // The same, with cores only if the query names any.
  [[nodiscard]] const cpu_places& places_for(const constraints_query& query) const noexcept;
  // Calls f(place) for each CPU that satisfies the query, at most the allowed number of a core.
  template <class F>
  static void for_each_match(const cpu_places& places, const constraints_query& query, F&& f);

  struct attribute_value {
    memory_attribute what;
    domain_index from;
    node_index to;
    std::uint64_t value;
  };

  std::vector<domain> domains_;
  std::vector<node> nodes_;
  std::vector<unsigned> node_distances_;  // row-major, from x to
  std::vector<attribute_value> attributes_;
  bool distances_known_ = false;
  std::vector<unsigned> distances_;    // row-major, from x to
  std::vector<domain_index> nearest_;  // row-major
  cpu_places places_;
  std::unique_ptr<cores_reader> late_cores_;       // if `places_` lacks cores
  std::vector<std::uint32_t> domain_of_real_cpu_;  // by OS id; no_domain where there is none
  static constexpr std::uint32_t no_domain = ~std::uint32_t{0};
  std::vector<int> numa_ids_;
  limits limits_;
  domain_kind kind_ = domain_kind::node;
  unsigned usable_cpus_ = 0;
  unsigned default_concurrency_ = 0;
  bool virtual_ = false;
};

/// The process's machine, read on first use as the environment says (docs/guide/machine.md: HOMING_TOPOLOGY,
/// HOMING_DOMAIN, HWLOC_SYNTHETIC, HWLOC_XMLFILE) and never again. Lives until the process ends.
/// Threads: any. Errors: std::bad_alloc until it has been read once. If hwloc fails, one domain with the process's
/// mask, and one warning.
[[nodiscard]] const machine& process_machine();

}  // namespace homing::topology
