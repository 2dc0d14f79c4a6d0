#include "topology/snapshot.hpp"

#include <homing/detail/fault.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include "platform/fork.hpp"
#include "sync/atomic.hpp"
#include "topology/environment.hpp"

namespace homing::topology {
namespace {

node_index find_node(std::span<const node> nodes, node_id id) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const node& n) { return n.id == id; });
  return static_cast<node_index>(found == nodes.end() ? 0 : found - nodes.begin());
}

domain_info describe_domain(const machine& m, std::size_t index) {
  const domain& d = m.domains()[index];
  return {.index = static_cast<domain_index>(index),
          .node = find_node(m.nodes(), d.node),
          .memory_node = find_node(m.nodes(), d.memory_node),
          .socket = d.package,
          .cpus = d.cpus,
          .l3_groups = d.l3_groups,
          .runs_on = d.binding.ids()};
}

node_info describe_node(const machine& m, std::size_t index) {
  const node& n = m.nodes()[index];
  return {.index = static_cast<node_index>(index),
          .id = n.id,
          .memory = n.memory,
          .memory_bytes = n.memory_bytes,
          .cpus = n.cpus,
          .is_tier = n.is_tier,
          .nearest_memory = n.nearest_memory};
}

cuts describe_cuts(const limits& l) {
  return {.machine_cpus = l.machine_cpus,
          .offline_cpus = l.offline_cpus,
          .cut_by_cpuset = l.cut_by_cpuset,
          .cut_by_affinity = l.cut_by_affinity,
          .quota_cpus = l.quota_cpus,
          .quota_file = l.quota_file,
          .forbidden_memory = l.forbidden_memory,
          .nodes_without_memory = l.nodes_without_memory,
          .nodes_without_cpus = l.nodes_without_cpus,
          .mask_ignored = l.mask_ignored,
          .mask_refused = l.mask_refused,
          .mask_known = l.mask_known,
          .kind_unknown = l.kind_unknown};
}

// The process's snapshot. Constructed once and never destroyed: threads may ask while static objects are.
struct process_snapshot {
  std::mutex lock;
  snapshot value;  // under `lock`
  sync::atomic<unsigned long> generation{1};
};

snapshot read_now() { return make_snapshot(read_environment(source::figures::all)); }

sync::atomic<process_snapshot*> of_process{nullptr};

// Not the compiler's lock of a static variable: a fork must find nobody at it, nor at the snapshot.
std::mutex making;
void hold_over_fork() {
  making.lock();
  if (process_snapshot* const p = of_process.load(sync::relaxed)) p->lock.lock();
}
void release_after_fork() {
  if (process_snapshot* const p = of_process.load(sync::relaxed)) p->lock.unlock();
  making.unlock();
}
const platform::fork_part made_over_fork(platform::fork_layer::machine, hold_over_fork, release_after_fork,
                                         release_after_fork);

process_snapshot& process() {
  process_snapshot* p = of_process.load(sync::acquire);
  if (p == nullptr) {
    const std::lock_guard hold(making);
    p = of_process.load(sync::relaxed);
    if (p == nullptr) {
      p = new process_snapshot{.lock = {}, .value = read_now()};
      of_process.store(p, sync::release);  // the snapshot, for the acquire above
    }
  }
  return *p;
}

void replace(process_snapshot& p, const snapshot& next) {
  const std::lock_guard hold(p.lock);
  p.value = next;
  // release: whoever reads the new generation and takes the lock finds the new value; partner: current_generation().
  p.generation.fetch_add(1, sync::release);
}

}  // namespace

snapshot::data::data(std::shared_ptr<const machine> from) : source(std::move(from)), cut(describe_cuts(source->cut())) {
  for (std::size_t d = 0; d < source->domains().size(); ++d) domains.push_back(describe_domain(*source, d));
  for (std::size_t n = 0; n < source->nodes().size(); ++n) nodes.push_back(describe_node(*source, n));
  const auto usable =
      std::count_if(nodes.begin(), nodes.end(), [](const node_info& n) { return n.memory == node_memory::usable; });
  memory_nodes = std::max(1U, static_cast<unsigned>(usable));
}

snapshot::snapshot(std::shared_ptr<const data> from) noexcept : data_(std::move(from)) {}

std::span<const domain_info> snapshot::domains() const noexcept { return data_->domains; }
std::span<const node_info> snapshot::nodes() const noexcept { return data_->nodes; }

const domain_info& snapshot::at(domain_index domain) const noexcept {
  homing::detail::expects(to_index(domain) < data_->domains.size(), "topology::snapshot::at",
                          "no such domain; domains() has those of this snapshot");
  return data_->domains[to_index(domain)];
}

const node_info& snapshot::at(node_index node) const noexcept {
  homing::detail::expects(to_index(node) < data_->nodes.size(), "topology::snapshot::at",
                          "no such node; nodes() has those of this snapshot, find() takes an OS id");
  return data_->nodes[to_index(node)];
}

std::optional<node_index> snapshot::find(node_id id) const noexcept {
  for (const node_info& n : data_->nodes) {
    if (n.id == id) return n.index;
  }
  return std::nullopt;
}

std::optional<domain_index> snapshot::domain_of(cpu_id cpu) const noexcept { return data_->source->domain_of_cpu(cpu); }
node_id snapshot::memory_id(domain_index domain) const noexcept { return at(at(domain).memory_node).id; }
unsigned snapshot::memory_node_count() const noexcept { return data_->memory_nodes; }

unsigned snapshot::distance(domain_index from, domain_index to) const noexcept {
  return data_->source->distance(at(from).index, at(to).index);
}
unsigned snapshot::distance(node_index from, node_index to) const noexcept {
  return data_->source->distance(at(from).index, at(to).index);
}
bool snapshot::distances_known() const noexcept { return data_->source->distances_known(); }
std::span<const domain_index> snapshot::nearest_first(domain_index from) const noexcept {
  return data_->source->nearest_first(at(from).index);
}
std::optional<std::uint64_t> snapshot::attribute(memory_attribute what, domain_index from,
                                                 node_index to) const noexcept {
  return data_->source->attribute(what, at(from).index, at(to).index);
}

domain_kind snapshot::kind() const noexcept { return data_->source->kind(); }
bool snapshot::is_virtual() const noexcept { return data_->source->is_virtual(); }
unsigned snapshot::default_concurrency() const noexcept { return data_->source->default_concurrency(); }
const cuts& snapshot::cut() const noexcept { return data_->cut; }
std::string snapshot::describe() const { return data_->source->describe(); }

snapshot make_snapshot(std::shared_ptr<const machine> from) {
  return snapshot(std::make_shared<const snapshot::data>(std::move(from)));
}

snapshot current() {
  process_snapshot& p = process();
  const std::lock_guard hold(p.lock);
  return p.value;
}

snapshot refresh() {
  process_snapshot& p = process();
  snapshot next = read_now();
  replace(p, next);
  return next;
}

void set_current(const snapshot& machine) { replace(process(), machine); }

// acquire: see replace().
unsigned long current_generation() { return process().generation.load(sync::acquire); }

}  // namespace homing::topology
