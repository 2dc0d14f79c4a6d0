#include "memory/pool_set.hpp"

#include <homing/detail/fault.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "platform/env.hpp"

namespace homing::memory {
namespace {

page_home home_on(const topology::snapshot& machine, node_index node) {
  for (const topology::domain_info& d : machine.domains()) {
    if (d.memory_node == node) return {machine.at(node).id, d.index};
  }
  return {machine.at(node).id, std::nullopt};
}

}  // namespace

bool has_one_node(const topology::snapshot& machine) noexcept {
  return machine.memory_node_count() == 1 && !machine.is_virtual();
}

std::vector<page_home> homes_of(const topology::snapshot& machine, domain_index domain) {
  detail::expects(to_index(domain) < machine.domains().size(), "domain_resource",
                  "the current machine has no such domain");
  if (has_one_node(machine)) return {};
  return {{machine.memory_id(domain), domain}};
}

std::vector<page_home> homes_of(const topology::snapshot& machine, std::span<const node_index> nodes) {
  std::vector<page_home> homes;
  for (const node_index node : nodes) {
    detail::expects(to_index(node) < machine.nodes().size(), "memory_resource", "the current machine has no such node");
    homes.push_back(home_on(machine, node));
  }
  if (has_one_node(machine)) return {};
  for (const topology::node_info& n : machine.nodes()) {
    const bool is_default = nodes.empty() && n.memory == topology::node_memory::usable && !n.cpus.empty();
    if (is_default) homes.push_back(home_on(machine, n.index));
  }
  // No node has both: then the one that the first domain's memory comes from.
  if (homes.empty()) homes.push_back({machine.memory_id(domain_index{0}), domain_index{0}});
  return homes;
}

pool_set::pool_set(const char* name, const topology::snapshot& machine, const memory_options& options)
    : name_(name), machine_(machine), options_(options), budget_(options.bytes_max) {}

pool_set::pool_set(const char* name, platform::page_calls& calls, platform::address_space& space,
                   const topology::snapshot& machine, std::vector<page_home> homes, const memory_options& options)
    : pool_set(name, machine, options) {
  places_.push_back(
      std::make_unique<place>(this, new_pages(calls, space, machine, std::move(homes), options), budget_));
}

std::unique_ptr<pool_set> pool_set::of_all_domains(const char* name, platform::page_calls& calls,
                                                   platform::address_space& space, const topology::snapshot& machine,
                                                   const memory_options& options) {
  if (has_one_node(machine)) {
    return std::make_unique<pool_set>(name, calls, space, machine, std::vector<page_home>(), options);
  }
  std::unique_ptr<pool_set> set(new pool_set(name, machine, options));
  std::vector<node_index> nodes;
  for (const topology::domain_info& d : machine.domains()) {
    const auto known = std::find(nodes.begin(), nodes.end(), d.memory_node);
    set->place_of_domain_.push_back(static_cast<std::size_t>(known - nodes.begin()));
    if (known != nodes.end()) continue;
    nodes.push_back(d.memory_node);
    set->places_.push_back(std::make_unique<place>(
        set.get(), new_pages(calls, space, machine, {{machine.memory_id(d.index), d.index}}, options), set->budget_));
  }
  return set;
}

pool_set::~pool_set() {
  if (const memory_usage left = usage(); left.live_blocks > 0) {
    platform::warn("%s: ends with %zu blocks (%zu bytes) alive; end what uses its memory first", name_,
                   left.live_blocks, left.live_bytes);
  }
}

void* pool_set::allocate(std::size_t bytes, std::size_t alignment) {
  if (places_.size() == 1) {
    if (void* const block = places_.front()->pool.allocate(bytes, alignment)) return block;
    throw std::bad_alloc();
  }
  // A machine that was refreshed since may have more domains: then the first pool will do.
  const domain_index asked = topology::current_domain();
  const domain_index here = to_index(asked) < place_of_domain_.size() ? asked : domain_index{0};
  for (const domain_index d : machine_.nearest_first(here)) {
    if (void* const block = places_[place_of_domain_[to_index(d)]]->pool.allocate(bytes, alignment)) return block;
    if (options_.when_full == on_full::fail) break;  // spill: what the next pool has left
  }
  throw std::bad_alloc();
}

memory_usage pool_set::usage() const noexcept {
  memory_usage sum;
  for (const auto& p : places_) p->pool.add_to(sum);
  sum.mapped_bytes = budget_.taken();
  sum.mapped_bytes_most = budget_.taken_most();
  return sum;
}

}  // namespace homing::memory
