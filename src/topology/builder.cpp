/// From facts and limits to a machine: who may be used, how it falls into domains, who is near.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include "platform/cgroup.hpp"
#include "platform/cpu_set.hpp"
#include "platform/env.hpp"
#include "platform/kernel_limits.hpp"
#include "topology/facts.hpp"
#include "topology/late_cores.hpp"
#include "topology/sysfs_reader.hpp"

namespace homing::topology {
namespace {

constexpr std::size_t domain_count_max = 1024;  // Linux's own bound on nodes
constexpr unsigned distance_local = 10;
constexpr unsigned distance_unknown = 20;  // what Linux assumes of another node

platform::process_mask process_mask(const given_limits& given) {
  return given.mask ? platform::process_mask{*given.mask, 0} : platform::read_process_mask();
}

template <class Container>
decltype(auto) item(Container& container, int index) {
  return container[static_cast<std::size_t>(index)];
}

}  // namespace

class machine_builder {
 public:
  machine_builder(const machine_facts& facts, const given_limits& given)
      : facts_(facts), given_(given), mask_(process_mask(given)), result_(new machine(machine{})) {}

  read_result build(domain_kind kind) {
    result_->kind_ = kind;
    // Before anything is made of them: a table of distances has all pairs.
    if (facts_.nodes.size() > node_count_max) return {nullptr, "more than 1024 nodes", refused_by::homing};
    choose_cpus();
    if (usable_.empty()) return {nullptr, "none of its CPUs may be used by this process", refused_by::homing};
    note_memory();
    form_domains();
    if (result_->domains_.size() > domain_count_max) {
      return {nullptr, "more than 1024 domains", refused_by::homing};
    }
    bind_domains();
    measure_distances();
    order_neighbours();
    describe_nodes();
    gather_attributes();
    fill_places();
    set_concurrency();
    return {std::move(result_)};
  }

 private:
  // Usable CPUs, and the account of those that are not.
  void choose_cpus() {
    limits& cut = result_->limits_;
    cut.machine_cpus = static_cast<unsigned>(facts_.cpus.size());
    std::vector<const cpu_fact*> allowed;
    for (const cpu_fact& cpu : facts_.cpus) {
      if (cpu.allowed) allowed.push_back(&cpu);
    }
    cut.cut_by_cpuset = cut.machine_cpus - static_cast<unsigned>(allowed.size());
    usable_ = allowed;
    result_->virtual_ = !facts_.this_system;
    if (!facts_.this_system) return;
    if (!facts_.made_up) cut.offline_cpus = platform::offline_cpus().count();
    cut.mask_refused = mask_.error_number;
    cut.mask_known = !mask_.cpus.empty();
    if (!cut.mask_known) return;
    std::erase_if(usable_, [&](const cpu_fact* cpu) { return !mask_.cpus.contains(cpu->id); });
    if (usable_.empty() && facts_.made_up) {
      usable_ = allowed;
      cut.mask_ignored = true;
      result_->virtual_ = true;
    }
    cut.cut_by_affinity = static_cast<unsigned>(allowed.size() - usable_.size());
  }

  // Which nodes' memory this process may have.
  void note_memory() {
    limits& cut = result_->limits_;
    std::optional<platform::node_set> nodes = given_.memory_nodes;
    if (!nodes && !result_->virtual_) nodes = platform::allowed_memory_nodes();
    for (std::size_t i = 0; i < facts_.nodes.size(); ++i) {
      const node_fact& node = facts_.nodes[i];
      const bool allowed = nodes ? nodes->contains(node.id) : node.allowed;
      memory_usable_.push_back(node.has_memory && allowed);
      if (!allowed && node.has_memory) cut.forbidden_memory.push_back(node.id);
      if (!node.has_memory) cut.nodes_without_memory.push_back(node.id);
      const bool has_cpus = std::any_of(facts_.cpus.begin(), facts_.cpus.end(),
                                        [&](const cpu_fact& cpu) { return cpu.node == static_cast<int>(i); });
      if (!has_cpus && node.has_memory) cut.nodes_without_cpus.push_back(node.id);
    }
  }

  [[nodiscard]] unsigned node_distance(int from, int to) const {
    if (from == to) return distance_local;
    if (from < 0 || to < 0 || facts_.distances.empty()) return distance_unknown;
    return item(facts_.distances, from * static_cast<int>(facts_.nodes.size()) + to);
  }

  // The node that a CPU counts as part of: its own, or, where no node has it, one of its socket.
  [[nodiscard]] int node_of(const cpu_fact& cpu) const {
    if (cpu.node >= 0) return cpu.node;
    for (const cpu_fact& other : facts_.cpus) {
      if (other.node >= 0 && other.package == cpu.package) return other.node;
    }
    const auto first = std::find(memory_usable_.begin(), memory_usable_.end(), true);
    return first == memory_usable_.end() ? 0 : static_cast<int>(first - memory_usable_.begin());
  }

  // CPUs with the same key share a domain. An L3 group never crosses nodes: a domain has one home.
  [[nodiscard]] std::tuple<int, int, int> key(const cpu_fact& cpu) const {
    const int apart = cpu.node < 0 ? cpu.package : -1;  // CPUs that no node has, by socket
    switch (result_->kind_) {
      case domain_kind::socket:
        return {0, cpu.package, 0};
      case domain_kind::l3:
        return {cpu.node, apart, cpu.l3};
      case domain_kind::node:
        break;
    }
    return {cpu.node, apart, 0};
  }

  void form_domains() {
    const auto lacks = [&](int cpu_fact::*what) {
      return std::none_of(usable_.begin(), usable_.end(), [&](auto* cpu) { return cpu->*what >= 0; });
    };
    if ((result_->kind_ == domain_kind::l3 && lacks(&cpu_fact::l3)) ||
        (result_->kind_ == domain_kind::socket && lacks(&cpu_fact::package))) {
      result_->limits_.kind_unknown = true;
      result_->kind_ = domain_kind::node;
    }
    std::map<std::tuple<int, int, int>, std::vector<const cpu_fact*>> groups;
    for (const cpu_fact* cpu : usable_) groups[key(*cpu)].push_back(cpu);
    for (auto& [ignored, cpus] : groups) members_.push_back(std::move(cpus));
    const auto order = [&](const auto& cpus) { return std::pair(home_of(cpus), cpus.front()->id); };
    std::sort(members_.begin(), members_.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    for (const auto& cpus : members_) result_->domains_.push_back(make_domain(cpus));
  }

  // The first of these CPUs that a node has; null if none has any of them.
  [[nodiscard]] static const cpu_fact* first_in_a_node(const std::vector<const cpu_fact*>& cpus) {
    const auto found = std::find_if(cpus.begin(), cpus.end(), [](const cpu_fact* cpu) { return cpu->node >= 0; });
    return found == cpus.end() ? nullptr : *found;
  }

  // The lowest of the nodes that have these CPUs, one with memory before one without. Without any, what lends memory.
  [[nodiscard]] int home_of(const std::vector<const cpu_fact*>& cpus) const {
    const cpu_fact* const first = first_in_a_node(cpus);
    if (first == nullptr) return node_of(*cpus.front());
    int best = first->node;
    for (const cpu_fact* cpu : cpus) {
      const auto rank = [&](int n) { return std::pair(!item(memory_usable_, n), n); };
      if (cpu->node >= 0 && rank(cpu->node) < rank(best)) best = cpu->node;
    }
    return best;
  }

  // The nearest node that has memory for us; `node` itself if none has. First those that the description puts beside
  // `cpu`, if one is given. Of several the next one, as Linux goes on where a CPU's own node has no memory
  // (mm/page_alloc.c, find_next_best_node): so that first touch there is at home.
  [[nodiscard]] int memory_for(int node, const cpu_fact* cpu) const {
    if (cpu != nullptr) {
      for (const int near : cpu->near_nodes) {
        if (item(memory_usable_, near)) return near;
      }
    }
    const auto rank = [&](int other) {
      return std::tuple(!item(memory_usable_, other), node_distance(node, other), other < node, other);
    };
    int best = node;
    for (int other = 0; other < static_cast<int>(facts_.nodes.size()); ++other) {
      if (item(memory_usable_, other) && rank(other) < rank(best)) best = other;
    }
    return best;
  }

  domain make_domain(const std::vector<const cpu_fact*>& cpus) const {
    const int node = home_of(cpus);
    const cpu_fact* const first = first_in_a_node(cpus);
    const int memory = item(memory_usable_, node) ? node : memory_for(node, first == nullptr ? cpus.front() : first);
    domain made{.node = item(facts_.nodes, node).id,
                .memory_node = item(facts_.nodes, memory).id,
                .cpus = {},
                .binding = {},
                .l3_groups = {},
                .has_memory = item(memory_usable_, node) && first != nullptr,
                .package = cpus.front()->package,
                .nodeless = first == nullptr};
    std::map<int, std::vector<cpu_id>> by_l3;
    for (const cpu_fact* cpu : cpus) {
      made.cpus.push_back(cpu->id);
      by_l3[cpu->l3].push_back(cpu->id);
    }
    for (auto& [ignored, group] : by_l3) made.l3_groups.push_back(std::move(group));
    return made;
  }

  // On a made-up machine each described CPU stands for a real one, dealt round-robin.
  void bind_domains() {
    const std::vector<cpu_id> real = (mask_.cpus.empty() ? platform::online_cpus() : mask_.cpus).ids();
    std::size_t next = 0;
    for (domain& d : result_->domains_) {
      for (const cpu_id cpu : d.cpus) {
        d.binding.add(!result_->virtual_ ? cpu : real.empty() ? cpu_id{0} : real[next++ % real.size()]);
      }
    }
  }

  // Between domains of several nodes: the nearest pair.
  void measure_distances() {
    const std::size_t count = members_.size();
    std::vector<std::vector<int>> nodes(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (const cpu_fact* cpu : members_[i]) nodes[i].push_back(node_of(*cpu));
      std::sort(nodes[i].begin(), nodes[i].end());
      nodes[i].erase(std::unique(nodes[i].begin(), nodes[i].end()), nodes[i].end());
    }
    for (std::size_t from = 0; from < count; ++from) {
      for (std::size_t to = 0; to < count; ++to) {
        unsigned nearest = 255;
        for (const int a : nodes[from]) {
          for (const int b : nodes[to]) nearest = std::min(nearest, node_distance(a, b));
        }
        // CPUs that no node has stand for a node that the description leaves out.
        const bool left_out = result_->domains_[from].nodeless || result_->domains_[to].nodeless;
        if (left_out && nearest == distance_local) nearest = distance_unknown;
        result_->distances_.push_back(from == to ? distance_local : nearest);
      }
    }
  }

  void order_neighbours() {
    const auto& domains = result_->domains_;
    const std::size_t count = domains.size();
    for (std::size_t from = 0; from < count; ++from) {
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      const auto rank = [&](std::size_t to) {
        return std::tuple(from != to, result_->distances_[from * count + to],
                          domains[from].package != domains[to].package, (to + count - from) % count);
      };
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
      for (const std::size_t to : order) result_->nearest_.push_back(static_cast<domain_index>(to));
    }
  }

  void describe_nodes() {
    const int count = static_cast<int>(facts_.nodes.size());
    result_->distances_known_ = !facts_.distances.empty();
    for (int i = 0; i < count; ++i) {
      const node_fact& fact = item(facts_.nodes, i);
      const bool usable = item(memory_usable_, i);
      const auto first =
          std::find_if(facts_.cpus.begin(), facts_.cpus.end(), [&](const cpu_fact& cpu) { return cpu.node == i; });
      const bool has_cpus = first != facts_.cpus.end();
      const int nearest = usable ? i : memory_for(i, has_cpus ? &*first : nullptr);
      node made{.id = fact.id,
                .memory = usable            ? node_memory::usable
                          : fact.has_memory ? node_memory::forbidden
                                            : node_memory::absent,
                .memory_bytes = fact.has_memory ? fact.memory_bytes : 0,
                .cpus = {},
                .is_tier = !has_cpus && fact.has_memory,
                .nearest_memory = static_cast<node_index>(nearest)};
      for (const cpu_fact* cpu : usable_) {
        if (cpu->node == i) made.cpus.push_back(cpu->id);
      }
      result_->nodes_.push_back(std::move(made));
      for (int to = 0; to < count; ++to) result_->node_distances_.push_back(node_distance(i, to));
    }
  }

  // Of several figures for the same CPUs, the one that was given for the fewest.
  void gather_attributes() {
    std::vector<const attribute_fact*> facts;
    for (const attribute_fact& fact : facts_.attributes) facts.push_back(&fact);
    std::stable_sort(facts.begin(), facts.end(), [](auto* a, auto* b) { return a->from.size() < b->from.size(); });
    for (std::size_t d = 0; d < result_->domains_.size(); ++d) {
      const cpu_id cpu = result_->domains_[d].cpus.front();
      for (const attribute_fact* fact : facts) {
        const auto from = static_cast<domain_index>(d);
        const auto to = static_cast<node_index>(fact->node);
        if (!std::binary_search(fact->from.begin(), fact->from.end(), cpu)) continue;
        if (!result_->attribute(fact->what, from, to))
          result_->attributes_.push_back({fact->what, from, to, fact->value});
      }
    }
  }

  void fill_places() {
    platform::id_set<node_id> nodes;
    for (std::size_t d = 0; d < members_.size(); ++d) {
      for (const cpu_fact* cpu : members_[d]) {
        const node_id node = item(facts_.nodes, node_of(*cpu)).id;
        result_->places_.add(
            {cpu->id, static_cast<domain_index>(d), static_cast<int>(node), cpu->core, cpu->core_type});
        nodes.add(node);
        if (!result_->virtual_) remember_domain(cpu->id, d);
      }
    }
    result_->places_.finish();
    if (facts_.lacks_cores) result_->late_cores_ = std::make_unique<late_cores>();
    for (const node_id node : nodes.ids()) result_->numa_ids_.push_back(static_cast<int>(node));
  }

  void remember_domain(cpu_id cpu, std::size_t d) {
    auto& table = result_->domain_of_real_cpu_;
    const auto at = static_cast<std::size_t>(cpu);
    if (at >= table.size()) table.resize(at + 1, machine::no_domain);
    table[at] = static_cast<std::uint32_t>(d);
  }

  void set_concurrency() {
    result_->usable_cpus_ = static_cast<unsigned>(usable_.size());
    result_->default_concurrency_ = result_->usable_cpus_;
    limits& cut = result_->limits_;
    if (!result_->virtual_) apply_quota(cut);
    cut.thread_limit = given_.threads;
    if (given_.threads) result_->default_concurrency_ = std::min(result_->default_concurrency_, *given_.threads);
  }

  void apply_quota(limits& cut) {
    if (given_.quota_cpus) {
      if (*given_.quota_cpus > 0) cut.quota_cpus = *given_.quota_cpus;
    } else if (const auto quota = platform::read_cpu_quota()) {
      cut.quota_cpus = quota->cpus;
      cut.quota_file = quota->file;
    }
    if (!cut.quota_cpus) return;
    const double whole = std::clamp(std::ceil(*cut.quota_cpus), 1.0, 1e6);
    result_->default_concurrency_ = std::min(result_->usable_cpus_, static_cast<unsigned>(whole));
  }

  const machine_facts& facts_;
  const given_limits& given_;
  const platform::process_mask mask_;
  std::unique_ptr<machine> result_;
  std::vector<const cpu_fact*> usable_;
  std::vector<bool> memory_usable_;                    // by place in facts_.nodes
  std::vector<std::vector<const cpu_fact*>> members_;  // by domain
};

read_result build(const machine_facts& facts, domain_kind kind, const given_limits& given) {
  return machine_builder(facts, given).build(kind);
}

namespace {

/// Whether a few files of sysfs may take hwloc's place. hwloc obeys its own variables; who cuts what without a mask to
/// be known is for the cpuset to say.
bool few_files_will_do(const source& from) {
  return from.wanted == source::figures::first_task && from.from == source::origin::real &&
         !platform::has_env_that_starts("HWLOC_") && !process_mask(from.limits).cpus.empty();
}

facts_result facts_of(const source& from) {
  if (few_files_will_do(from)) {
    if (auto found = read_sysfs()) return {std::move(*found)};
  }
  return read_facts(from.from, from.text, from.wanted);
}

}  // namespace

read_result read(const source& from) {
  facts_result facts = facts_of(from);
  if (!facts.error.empty()) return {nullptr, std::move(facts.error), facts.who};
  if (from.about == source::claim::this_system) facts.value.this_system = true;
  return build(facts.value, from.kind, from.limits);
}

}  // namespace homing::topology
