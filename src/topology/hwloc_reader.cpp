/// hwloc's tree of a machine, flattened to the facts that we keep.
#include <hwloc.h>
#include <hwloc/cpukinds.h>
#include <hwloc/distances.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "platform/env.hpp"
#include "platform/fork.hpp"
#include "topology/facts.hpp"
#include "topology/memory_attributes.hpp"
#include "topology/synthetic_line.hpp"
#include "topology/xml_sets.hpp"

namespace homing::topology {
namespace {

struct topology_closer {
  void operator()(hwloc_topology* t) const noexcept { hwloc_topology_destroy(t); }
};
using topology_handle = std::unique_ptr<hwloc_topology, topology_closer>;

std::string errno_text(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

// hwloc's name for stdin, whatever files there are.
constexpr std::string_view stdin_name = "-";
constexpr const char* is_stdin = "it is stdin, which is the program's";

// Why a file can't be a description; empty if it may be one.
std::string file_problem(const std::string& path) {
  struct stat info {};
  if (path == stdin_name) return is_stdin;
  if (::stat(path.c_str(), &info) != 0) return errno_text("can't open the file");
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (info.st_size > static_cast<off_t>(xml_bytes_max)) return "the file is larger than 64 MiB";
  return "";
}

// Why we don't give a description to hwloc at all; empty if there is no reason.
std::string problem_of(source::origin from, const std::string& text) {
  if (from == source::origin::synthetic) {
    const synthetic_counts made = count_synthetic(text);
    if (made.cpus > synthetic_cpus_max) return "more than 4096 CPUs";
    return made.attached_nodes > node_count_max ? "more than 1024 nodes" : index_list_problem(text);
  }
  if (from == source::origin::xml) {
    std::string problem = file_problem(text);
    return problem.empty() ? xml_sets_problem(text) : problem;
  }
  // hwloc obeys its variable now.
  return platform::env("HWLOC_XMLFILE") == stdin_name ? std::string("HWLOC_XMLFILE=-: ") + is_stdin : "";
}

// Names a description, or says why hwloc does not take it.
std::string describe(hwloc_topology_t topology, source::origin from, const std::string& text) {
  if (from == source::origin::synthetic && hwloc_topology_set_synthetic(topology, text.c_str()) != 0) {
    return "not a synthetic description";
  }
  if (from == source::origin::xml && hwloc_topology_set_xml(topology, text.c_str()) != 0) {
    return "not an hwloc XML file";
  }
  return "";
}

// Loads a topology, or says why hwloc can't.
std::string load(hwloc_topology_t topology, source::origin from, source::figures figures) {
  // No devices: hwloc's defaults leave them out, and their discovery takes longer than all the rest.
  // Levels that we don't keep stay in: a node below a level that is left out loses its CPUs.
  // The x86 component binds this thread to every CPU in turn, to learn what Linux has told already.
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  // Disallowed CPUs and nodes stay in, so that we can say what was cut.
  const unsigned long no_figures =
      figures == source::figures::none ? static_cast<unsigned long>(HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS) : 0UL;
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | no_figures);
  if (hwloc_topology_load(topology) == 0) return "";
  return from == source::origin::real ? errno_text("hwloc can't read this machine") : "hwloc can't read it";
}

int ancestor_id(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type, unsigned hwloc_obj::*id) {
  hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return found == nullptr ? -1 : static_cast<int>(found->*id);
}

// The NUMA nodes, ascending by OS id: hwloc's own order is by place.
std::vector<hwloc_obj_t> nodes_by_id(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> nodes;
  for (hwloc_obj_t n = nullptr; (n = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, n)) != nullptr;) {
    nodes.push_back(n);
  }
  std::sort(nodes.begin(), nodes.end(), [](auto a, auto b) { return a->os_index < b->os_index; });
  return nodes;
}

// The nodes beside each CPU, its own first. A memory tier (HBM, CXL) may be attached to the same CPUs as a node of
// theirs, or to a whole socket: the node with the fewest CPUs is theirs, then the lowest id, as Linux numbers nodes
// with CPUs first.
std::map<unsigned, std::vector<int>> nodes_beside(const std::vector<hwloc_obj_t>& nodes) {
  std::vector<int> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return hwloc_bitmap_weight(nodes[static_cast<std::size_t>(a)]->cpuset) <
           hwloc_bitmap_weight(nodes[static_cast<std::size_t>(b)]->cpuset);
  });
  std::map<unsigned, std::vector<int>> beside;
  for (const int node : order) {
    hwloc_const_cpuset_t cpus = nodes[static_cast<std::size_t>(node)]->cpuset;
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu)) {
      beside[static_cast<unsigned>(cpu)].push_back(node);
    }
  }
  return beside;
}

// Why an object's number is none; empty if it is one. hwloc takes any number from a file, and no number for -1; a
// set that it belongs to (its own CPU or node set) must agree, or two objects could have one number.
std::string index_problem(hwloc_obj_t object, const char* what, hwloc_const_bitmap_t own) {
  if (object->os_index == HWLOC_UNKNOWN_INDEX) return std::string("a ") + what + " has no valid index";
  const std::string name = std::string(what) + " index " + std::to_string(object->os_index);
  if (object->os_index > index_max) return name + " is too high: expected 0 to " + std::to_string(index_max);
  if (own != nullptr &&
      (hwloc_bitmap_weight(own) != 1 || hwloc_bitmap_first(own) != static_cast<int>(object->os_index))) {
    return name + " and its set don't agree";
  }
  return "";
}

// The first number of a CPU, node or socket that can't be meant; empty if all can.
std::string first_index_problem(hwloc_topology_t topology) {
  const auto look = [&](hwloc_obj_type_t type, auto problem) {
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, type, o)) != nullptr;) {
      if (auto text = problem(o); !text.empty()) return text;
    }
    return std::string();
  };
  auto text = look(HWLOC_OBJ_PU, [](hwloc_obj_t o) { return index_problem(o, "CPU", o->cpuset); });
  std::set<unsigned> nodes;
  const auto node_problem = [&](hwloc_obj_t o) {
    auto problem = index_problem(o, "node", o->nodeset);
    const bool is_new = nodes.insert(o->os_index).second;
    return problem.empty() && !is_new ? "two nodes have the index " + std::to_string(o->os_index) : problem;
  };
  if (text.empty()) text = look(HWLOC_OBJ_NUMANODE, node_problem);
  // Sockets without a number are common, and some firmware numbers them high.
  if (!text.empty()) return text;
  return look(HWLOC_OBJ_PACKAGE, [](hwloc_obj_t o) {
    const bool good = o->os_index == HWLOC_UNKNOWN_INDEX || o->os_index <= unsigned{INT_MAX};
    return good ? std::string() : "socket index " + std::to_string(o->os_index) + " is too high";
  });
}

// CPUs of a synthetic line whose indexes repeat are one to hwloc. Empty: all are there.
std::string lost_cpus(hwloc_topology_t topology, const std::string& text) {
  const auto made = static_cast<unsigned long>(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  const unsigned long asked = count_synthetic(text).cpus;
  if (made == asked) return "";
  return "its CPU indexes repeat, which leaves " + std::to_string(made) + " of " + std::to_string(asked) + " CPUs";
}

// The kind of each CPU, ascending efficiency; empty if hwloc cannot tell or cannot rank them.
std::map<unsigned, int> core_types(hwloc_topology_t topology) {
  std::map<unsigned, int> types;
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
  for (int kind = 0; cpus != nullptr && kind < count; ++kind) {
    int efficiency = 0;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), cpus, &efficiency, nullptr, nullptr, 0) != 0) {
      continue;
    }
    if (efficiency < 0) {
      types.clear();
      break;
    }
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu)) {
      types.emplace(static_cast<unsigned>(cpu), kind);
    }
  }
  hwloc_bitmap_free(cpus);
  return types;
}

// The latency matrix in the unit of firmware tables (10 local, 255 unreachable); empty if unknown.
std::vector<unsigned> read_distances(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& nodes) {
  hwloc_distances_s* matrix = nullptr;
  unsigned count = 1;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix, HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                  0) != 0 ||
      count == 0 || matrix == nullptr) {
    return {};
  }
  const std::size_t n = nodes.size();
  std::vector<unsigned> result;
  hwloc_uint64_t local = 0;  // the smallest figure on the diagonal
  for (unsigned i = 0; i < matrix->nbobjs; ++i) {
    const auto value = matrix->values[i * matrix->nbobjs + i];
    local = i == 0 ? value : std::min(local, value);
  }
  if (local > 0) {
    result.assign(n * n, 20);
    for (std::size_t i = 0; i < n; ++i) result[i * n + i] = 10;
    const auto place = [&](hwloc_obj_t node) {
      return static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
    };
    for (unsigned i = 0; i < matrix->nbobjs; ++i) {
      for (unsigned j = 0; j < matrix->nbobjs; ++j) {
        const std::size_t from = place(matrix->objs[i]);
        const std::size_t to = place(matrix->objs[j]);
        const auto value = matrix->values[i * matrix->nbobjs + j];
        if (from >= n || to >= n) continue;
        // Another unit (say ns) is brought to 10 for local; only a real 255 means unreachable.
        const auto scaled = local == 10
                                ? std::min<hwloc_uint64_t>(value, 255)
                                : std::min<hwloc_uint64_t>(value / local * 10 + value % local * 10 / local, 254);
        result[from * n + to] = static_cast<unsigned>(scaled);
      }
    }
  }
  hwloc_distances_release(topology, matrix);
  return result;
}

machine_facts flatten(hwloc_topology_t topology, source::origin from) {
  machine_facts facts;
  facts.this_system = hwloc_topology_is_thissystem(topology) != 0;
  facts.made_up = from != source::origin::real || !facts.this_system;

  const std::vector<hwloc_obj_t> nodes = nodes_by_id(topology);
  const bool sizes_known =
      std::any_of(nodes.begin(), nodes.end(), [](hwloc_obj_t node) { return node->attr->numanode.local_memory > 0; });
  hwloc_const_nodeset_t allowed_nodes = hwloc_topology_get_allowed_nodeset(topology);
  for (hwloc_obj_t node : nodes) {
    facts.nodes.push_back({static_cast<node_id>(static_cast<int>(node->os_index)),
                           !sizes_known || node->attr->numanode.local_memory > 0,
                           hwloc_bitmap_isset(allowed_nodes, node->os_index) != 0, node->attr->numanode.local_memory});
  }
  facts.distances = read_distances(topology, nodes);

  const auto beside = nodes_beside(nodes);
  const auto types = core_types(topology);
  hwloc_const_cpuset_t allowed_cpus = hwloc_topology_get_allowed_cpuset(topology);
  for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
    const auto near = beside.find(pu->os_index);
    const auto type = types.find(pu->os_index);
    facts.cpus.push_back({static_cast<cpu_id>(static_cast<int>(pu->os_index)),
                          near == beside.end() ? -1 : near->second.front(),
                          ancestor_id(topology, pu, HWLOC_OBJ_PACKAGE, &hwloc_obj::os_index),
                          ancestor_id(topology, pu, HWLOC_OBJ_CORE, &hwloc_obj::logical_index),
                          ancestor_id(topology, pu, HWLOC_OBJ_L3CACHE, &hwloc_obj::logical_index),
                          type != types.end() ? type->second : -1, hwloc_bitmap_isset(allowed_cpus, pu->os_index) != 0,
                          near == beside.end() ? std::vector<int>() : near->second});
  }
  std::sort(facts.cpus.begin(), facts.cpus.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return facts;
}

}  // namespace

namespace {

// hwloc has locks of its own, while it reads: one thread at a time is in it, and none while the process forks.
std::mutex one_reads;
const platform::fork_part read_over_fork(
    platform::fork_layer::hwloc, [] { one_reads.lock(); }, [] { one_reads.unlock(); }, [] { one_reads.unlock(); });

}  // namespace

facts_result read_facts(source::origin from, const std::string& text, source::figures figures) {
  const std::lock_guard alone(one_reads);
  if (auto error = problem_of(from, text); !error.empty()) {
    // A file that can't be opened is none for hwloc either. Its stdin is always there.
    struct stat info {};
    const bool missing = from == source::origin::xml && text != stdin_name && ::stat(text.c_str(), &info) != 0;
    return {{}, std::move(error), missing ? refused_by::hwloc : refused_by::homing};
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {{}, errno_text("hwloc can't start"), refused_by::hwloc};
  const topology_handle topology(raw);
  // A broken file is found out now by hwloc's libxml plug-in, and only while it is loaded without that: then hwloc
  // would take it in place of the real machine. The same for both.
  const refused_by broken = from == source::origin::xml ? refused_by::homing : refused_by::hwloc;
  if (auto error = describe(raw, from, text); !error.empty()) return {{}, std::move(error), broken};
  if (auto error = load(raw, from, figures); !error.empty()) {
    return {{}, std::move(error), broken};
  }
  std::string wrong = first_index_problem(raw);
  if (wrong.empty() && from == source::origin::synthetic) wrong = lost_cpus(raw, text);
  if (!wrong.empty()) return {{}, std::move(wrong), refused_by::homing};
  facts_result result{flatten(raw, from)};
  if (figures == source::figures::all) result.value.attributes = read_attributes(raw, result.value.nodes);
  if (result.value.cpus.empty() || result.value.nodes.empty()) {
    result.error = "it describes no CPU";
    result.who = refused_by::homing;
  }
  return result;
}

}  // namespace homing::topology
