/// The machine as this process may use it: domains, nodes, how far apart they are, and what was cut by whom.
///
/// A snapshot never changes under its holder. current() gives the process's, refresh() reads the machine again.
/// Numbers with two faces have two types: an OS id (node_id, cpu_id: sparse, for people) and a dense index
/// (node_index, domain_index: for arrays). An index belongs to the snapshot that it came from.
///
/// Made-up machines (HOMING_TOPOLOGY, HWLOC_SYNTHETIC, HWLOC_XMLFILE) are read like real ones; is_virtual() tells.
#pragma once

#include <homing/export.hpp>
#include <homing/ids.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace homing::topology {

/// What a domain is: HOMING_DOMAIN=node (the default), l3 or socket.
enum class domain_kind { node, l3, socket };

/// A set of CPUs that work out of the same memory: a task's or a page's home.
struct domain_info {
  domain_index index;
  node_index node;                             ///< the node of its CPUs; of a socket with several, the lowest
  node_index memory_node;                      ///< where its memory comes from: `node`, or the nearest that has some
  int socket;                                  ///< OS id of the package, -1 if unknown
  std::vector<cpu_id> cpus;                    ///< CPUs that this process may use, ascending; never empty
  std::vector<std::vector<cpu_id>> l3_groups;  ///< `cpus` by shared L3 cache; one group if none is known
  std::vector<cpu_id> runs_on;                 ///< real CPUs to bind to: `cpus`, or on a made-up machine its share
};

/// What a NUMA node can give this process.
enum class node_memory {
  usable,     ///< has memory, and this process may use it
  forbidden,  ///< has memory that the cpuset keeps from this process
  absent      ///< has none
};

struct node_info {
  node_index index;
  node_id id;
  node_memory memory;
  std::uint64_t memory_bytes;  ///< 0 if absent or unknown
  std::vector<cpu_id> cpus;    ///< those that this process may use, ascending; may be empty
  bool is_tier;                ///< memory without CPUs (CXL, HBM): in no default set, usable when named
  node_index nearest_memory;   ///< itself if `usable`, else the nearest node that is; itself if none is
};

/// A figure that firmware (HMAT) or the machine's description gives of one node's memory, seen from a set of CPUs.
enum class memory_attribute {
  bandwidth_mib_per_s,
  read_bandwidth_mib_per_s,
  write_bandwidth_mib_per_s,
  latency_ns,
  read_latency_ns,
  write_latency_ns
};

/// What this process may not use, and what took it away.
struct cuts {
  unsigned machine_cpus = 0;              ///< CPUs that are switched on
  unsigned offline_cpus = 0;              ///< CPUs that are switched off
  unsigned cut_by_cpuset = 0;             ///< CPUs that the control group's cpuset took
  unsigned cut_by_affinity = 0;           ///< CPUs that the process's mask took beyond that
  std::optional<double> quota_cpus;       ///< the control groups' CPU time, in CPUs
  std::string quota_file;                 ///< the file that sets it
  std::vector<node_id> forbidden_memory;  ///< nodes whose memory the cpuset forbids
  std::vector<node_id> nodes_without_memory;
  std::vector<node_id> nodes_without_cpus;  ///< of the machine, not by a cut: memory tiers
  bool mask_ignored = false;  ///< a description claimed to be this machine, and the mask would have left nothing of it
  int mask_refused = 0;       ///< errno of a refused sched_getaffinity(2): the mask is that of /proc, if `mask_known`
  bool mask_known = true;     ///< false: nobody says the mask, so that all CPUs of the cpuset count
  bool kind_unknown = false;  ///< the machine reports nothing of the asked kind: domains are nodes
};

/// The machine at one moment. A handle: copies are cheap and share the data, which never changes. Never empty.
///
/// Threads: every call from any thread; none locks, and none allocates but describe().
/// Errors: an index of another snapshot that is out of range here is a programmer's error: one line and abort().
class HOMING_API snapshot {
 public:
  /// Domains with at least one CPU that this process may use, by node, then by first CPU. Never empty.
  [[nodiscard]] std::span<const domain_info> domains() const noexcept;
  /// All nodes of the machine, ascending by OS id, with or without CPUs, memory and permission. Never empty.
  [[nodiscard]] std::span<const node_info> nodes() const noexcept;
  [[nodiscard]] const domain_info& at(domain_index domain) const noexcept;
  [[nodiscard]] const node_info& at(node_index node) const noexcept;
  /// The node with this OS id; nothing if there is none.
  [[nodiscard]] std::optional<node_index> find(node_id id) const noexcept;
  /// The domain of a real CPU; nothing on a made-up machine and for a CPU that this process may not use.
  [[nodiscard]] std::optional<domain_index> domain_of(cpu_id cpu) const noexcept;
  /// The node that the domain's memory comes from, by OS id.
  [[nodiscard]] node_id memory_id(domain_index domain) const noexcept;
  /// Nodes whose memory this process may use, tiers included; 1 means that placement has no choice.
  [[nodiscard]] unsigned memory_node_count() const noexcept;

  /// Firmware's figure: 10 is local, 255 unreachable; from x to y and back may differ. It sorts; it is no latency.
  /// Where the machine does not say: 10 to itself, 20 to another.
  [[nodiscard]] unsigned distance(domain_index from, domain_index to) const noexcept;
  [[nodiscard]] unsigned distance(node_index from, node_index to) const noexcept;
  /// False if distance() between nodes is only assumed.
  [[nodiscard]] bool distances_known() const noexcept;
  /// All domains from `from` outward, itself first: by distance, then the same socket first, then by index, wrapping.
  [[nodiscard]] std::span<const domain_index> nearest_first(domain_index from) const noexcept;
  /// A figure of `to`'s memory seen from the CPUs of `from`; nothing where the machine gives none.
  [[nodiscard]] std::optional<std::uint64_t> attribute(memory_attribute what, domain_index from,
                                                       node_index to) const noexcept;

  [[nodiscard]] domain_kind kind() const noexcept;
  /// Made up: threads run on real CPUs dealt round-robin, and page homes are kept in a book.
  [[nodiscard]] bool is_virtual() const noexcept;
  /// Threads that make sense: the usable CPUs, or fewer by the quota, rounded up; >= 1.
  [[nodiscard]] unsigned default_concurrency() const noexcept;
  [[nodiscard]] const cuts& cut() const noexcept;
  /// A drawing in text, for people.
  [[nodiscard]] std::string describe() const;

  /// Same data, not merely equal.
  friend bool operator==(const snapshot& a, const snapshot& b) noexcept { return a.data_ == b.data_; }

  struct data;
  explicit snapshot(std::shared_ptr<const data> from) noexcept;  // for the library: `data` is not defined here

 private:
  std::shared_ptr<const data> data_;
};

/// The process's machine: read on first use, then the same until somebody calls refresh().
/// Threads: any. Errors: std::bad_alloc at the first use, which the next one tries again; if the machine can't be read,
/// one domain with the CPUs of the mask, and one line on stderr.
[[nodiscard]] HOMING_API snapshot current();

/// Reads the machine again (mask, cpuset, quota, hot-plugged nodes), makes that the current one and returns it.
/// Snapshots in use stay as they are, and a running TBB scheduler keeps the machine that it started with. Where the two
/// differ in domains, loops and pinned sections end the program at one that the other lacks: so call this before the
/// first task, or after tbb::finalize(). Threads: any; of several at once, one becomes current. Errors: as current().
HOMING_API snapshot refresh();

/// The domain that the calling thread works in, by the current snapshot: the one it is bound to by `bound_thread`, else
/// that of the CPU it runs on now. A thread on a made-up machine, or on a CPU that was not the process's when the
/// snapshot was taken, is dealt a domain when it first asks, in proportion to their CPUs, and keeps it.
/// A few nanoseconds. Threads: any. Errors: 0 where the machine has not been read yet and there is no memory to.
[[nodiscard]] HOMING_API domain_index current_domain() noexcept;

/// Binds the calling thread to the CPUs of a domain while it lives; then the thread's old mask comes back.
///
/// Ownership: must end on the thread that made it, innermost first.
/// Errors: a refusal is a value: error_number() is the errno; the thread then runs where it ran, and current_domain()
///         says so. The mask in force is never wider than the process's was when `machine` was read. Masks that
///         somebody narrows later count from the next refresh() on; the kernel holds its cpuset at all times.
class [[nodiscard]] HOMING_API bound_thread {
 public:
  [[nodiscard]] bound_thread(const snapshot& machine, domain_index domain);
  bound_thread(const bound_thread&) = delete;
  bound_thread& operator=(const bound_thread&) = delete;
  ~bound_thread();
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  struct saved;
  std::unique_ptr<saved> saved_;
  int error_number_ = 0;
};

}  // namespace homing::topology
