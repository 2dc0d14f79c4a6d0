/// The public functions of <homing/placement.hpp>: what is asked, of this kernel or of the book.
#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "memory/home_book.hpp"
#include "memory/page_locations.hpp"
#include "memory/page_plan.hpp"
#include "memory/placer.hpp"
#include "memory/policy_owners.hpp"
#include "platform/page_calls.hpp"

namespace homing {

namespace {

platform::page_calls& calls() noexcept { return platform::kernel_page_calls(); }

// Back to the default. Returns 0 or the errno.
int take_back(platform::address_range pages, bool is_virtual) noexcept {
  if (is_virtual) {
    memory::process_home_book().forget(pages);
    return 0;
  }
  return calls().set_policy(pages, platform::policy_mode::system_default, {}, platform::existing_pages::leave);
}

}  // namespace

// The only way into a placed_range.
struct placed_range_access {
  // `held`: ascending.
  static placed_range make(placement_report report, bool ok, std::span<const platform::address_range> held) {
    const bool is_virtual = report.is_virtual;
    placed_range result;
    result.report_ = std::move(report);
    result.ok_ = ok;
    if (held.empty()) return result;
    try {
      const auto owner = memory::process_policy_owners().take(held);
      result.held_ = {reinterpret_cast<std::byte*>(held.front().first), held.back().last - held.front().first, owner,
                      is_virtual};
    } catch (...) {
      for (const platform::address_range& r : held) take_back(r, is_virtual);
      throw;
    }
    return result;
  }
};

namespace {

using memory::home_target;
using memory::later_policy;
using memory::page_locations;
using memory::page_plan;
using platform::address_range;

std::vector<home_target> targets_of_domains(const topology::snapshot& machine) {
  std::vector<home_target> targets;
  for (const topology::domain_info& d : machine.domains()) targets.push_back({machine.at(d.memory_node).id, d.index});
  return targets;
}

home_target target_of_node(const topology::snapshot& machine, node_index node) {
  for (const topology::domain_info& d : machine.domains()) {
    if (d.memory_node == node) return {machine.at(node).id, d.index};
  }
  return {machine.at(node).id, std::nullopt};
}

void check_homes(const page_plan& plan, std::size_t target_count, const char* function) {
  for (const int home : plan.home) {
    detail::expects(home < 0 || static_cast<std::size_t>(home) < target_count, function,
                    "the distribution names a domain that the current machine does not have");
  }
}

struct request {
  const topology::snapshot& machine;
  address_range pages;
  std::span<const home_target> targets;
  later_policy later;
  const placement_options& options;
};

// Of a made-up machine, by home: whether its node has memory for this process. A kernel would refuse any other.
std::vector<bool> have_memory(const request& r) {
  std::vector<bool> result;
  for (const home_target& t : r.targets) {
    const auto node = r.machine.find(t.node);
    result.push_back(node && r.machine.at(*node).memory == topology::node_memory::usable);
  }
  return result;
}

// A made-up machine: what would be, written down.
placed_range write_down(const request& r, const page_plan& plan) {
  placement_report report;
  report.is_virtual = true;
  report.mixed = plan.mixed;
  report.grain_bytes = plan.grain_bytes;
  const std::vector<bool> usable = have_memory(r);
  const auto is_refused = [&](int home) { return home >= 0 && !usable[static_cast<std::size_t>(home)]; };
  const auto refused = static_cast<std::size_t>(std::count_if(plan.home.begin(), plan.home.end(), is_refused));
  if (refused > 0) report.refused.push_back({refusal_cause::bad_node, EINVAL, refused});
  const bool stopped = refused > 0 && r.options.refusal == on_refusal::fail;
  std::size_t not_attempted = 0;
  const std::vector<int> before = memory::process_home_book().read(r.pages, plan.page_bytes);
  std::vector<int> node(plan.size(), -1);
  std::vector<address_range> held;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    report.edge += plan.home[p] == page_plan::edge;
    report.without_home += plan.home[p] == page_plan::no_home;
    if (plan.home[p] < 0) continue;
    ++report.asked;
    if (is_refused(plan.home[p])) continue;
    const int wanted = to_number(r.targets[static_cast<std::size_t>(plan.home[p])].node);
    if (stopped && before[p] != wanted) {
      ++not_attempted;
      continue;
    }
    ++report.placed;
    if (stopped) continue;
    node[p] = wanted;
    const address_range page{plan.address_of(p), plan.address_of(p + 1)};
    if (held.empty() || held.back().last != page.first) held.push_back(page);
    held.back().last = page.last;
    report.moved += before[p] >= 0 && before[p] != node[p];
  }
  if (not_attempted > 0) report.refused.push_back({refusal_cause::not_attempted, 0, not_attempted});
  memory::process_home_book().write(plan.first, plan.page_bytes, node);
  return placed_range_access::make(std::move(report), !stopped, held);
}

placed_range one_node_is_enough(const memory_range& range, address_range pages) {
  const auto first = reinterpret_cast<std::uintptr_t>(range.address());
  const std::size_t count = pages.bytes() / page_bytes();
  const std::size_t cut =
      static_cast<std::size_t>(pages.first != first) + static_cast<std::size_t>(pages.last != first + range.bytes());
  placement_report report;
  report.one_node = true;
  report.edge = std::min(cut, count);  // both ends may be in one page
  report.asked = report.placed = count - report.edge;
  return placed_range_access::make(report, true, {});
}

// Nothing to choose, and nobody asked for a particular way.
bool is_idle(const topology::snapshot& machine, const placement_options& options) noexcept {
  return machine.memory_node_count() == 1 && !machine.is_virtual() && options.how == means::automatic;
}

// The plan, with the pages really in use; a made-up machine has none.
page_plan plan_for(const detail::run_source& runs, const memory_range& range, std::size_t element_bytes,
                   address_range pages, const topology::snapshot& machine, const platform::mapping_list& mappings) {
  std::vector<address_range> units;
  if (!machine.is_virtual()) units = memory::huge_units(calls(), pages, mappings.all);
  return memory::make_plan(runs, range, element_bytes, pages, page_bytes(), units);
}

platform::mapping_list mappings_for(const topology::snapshot& machine, address_range pages) {
  if (machine.is_virtual() || pages.bytes() == 0) return {};
  return calls().mappings(pages);
}

// `plan_of(mappings)` lays the homes over the pages that there are.
template <class Planner>
placed_range carry_out(const request& r, const char* function, const Planner& plan_of) {
  auto mappings = mappings_for(r.machine, r.pages);
  page_plan plan = plan_of(mappings);
  check_homes(plan, r.targets.size(), function);
  if (r.machine.is_virtual()) return write_down(r, plan);
  auto done = memory::placer(calls(), r.machine, plan, mappings, r.targets, r.later, r.options).run(true);
  if (done.is_outdated) {
    mappings = mappings_for(r.machine, r.pages);
    plan = plan_of(mappings);
    done = memory::placer(calls(), r.machine, plan, mappings, r.targets, r.later, r.options).run(false);
  }
  return placed_range_access::make(std::move(done.report), done.ok, done.held);
}

// A whole range with one home.
constexpr piece run_to_first(const void*, std::size_t position, std::size_t last) {
  return {position, last, domain_index{0}};
}

// By turns, unit by unit; by address, so that the same page gets the same node again.
void deal(page_plan& plan, std::size_t targets) {
  for (std::size_t p = 0; p < plan.size();) {
    if (plan.home[p] < 0) {
      ++p;
      continue;
    }
    std::size_t end = p + 1;
    while (end < plan.size() && !plan.begins_unit[end]) ++end;
    const std::size_t turn = plan.address_of(p) / ((end - p) * plan.page_bytes) % targets;
    for (; p < end; ++p) plan.home[p] = static_cast<int>(turn);
  }
}

placed_range to_one(const memory_range& range, const home_target& target, const placement_options& options) {
  const topology::snapshot machine = topology::current();
  const address_range pages = memory::pages_of(range, page_bytes(), "localize");
  if (is_idle(machine, options)) return one_node_is_enough(range, pages);
  return carry_out({machine, pages, {&target, 1}, later_policy::at_home, options}, "localize",
                   [&](const auto& mappings) {
                     return plan_for({nullptr, run_to_first}, range, 1, pages, machine, mappings);
                   });
}

page_locations look(const topology::snapshot& machine, address_range pages, const platform::mapping_list& mappings,
                    std::span<const int> owner) {
  if (!machine.is_virtual()) return memory::locate(calls(), pages, mappings, owner);
  page_locations locations;
  locations.node = memory::process_home_book().read(pages, page_bytes());
  locations.source = page_source::book;
  return locations;
}

}  // namespace

std::size_t page_bytes() noexcept { return calls().page_bytes(); }

namespace detail {

placed_range enforce(const run_source& runs, memory_range range, std::size_t element_bytes,
                     const placement_options& options) {
  const topology::snapshot machine = topology::current();
  const address_range pages = memory::pages_of(range, page_bytes(), "enforce");
  if (is_idle(machine, options)) return one_node_is_enough(range, pages);
  const std::vector<home_target> targets = targets_of_domains(machine);
  return carry_out({machine, pages, targets, later_policy::at_home, options}, "enforce", [&](const auto& mappings) {
    return plan_for(runs, range, element_bytes, pages, machine, mappings);
  });
}

verification verify(const run_source& runs, memory_range range, std::size_t element_bytes) {
  const topology::snapshot machine = topology::current();
  const address_range pages = memory::pages_of(range, page_bytes(), "verify");
  const auto mappings = mappings_for(machine, pages);
  const page_plan plan = plan_for(runs, range, element_bytes, pages, machine, mappings);
  check_homes(plan, machine.domains().size(), "verify");
  const page_locations locations = look(machine, pages, mappings, plan.home);
  verification result;
  result.source = locations.source;
  result.mixed = plan.mixed;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    result.edge += plan.home[p] == page_plan::edge;
    result.without_home += plan.home[p] == page_plan::no_home;
  }
  for (const topology::domain_info& d : machine.domains()) {
    const auto is_of_domain = [&](std::size_t p) { return plan.home[p] == static_cast<int>(to_index(d.index)); };
    page_census census = memory::count_pages(locations, is_of_domain);
    if (census.pages == 0) continue;
    const node_id node = machine.at(d.memory_node).id;
    result.asked += census.pages;
    result.untouched += census.untouched;
    result.unknown += census.unknown;
    result.at_home += census.on(node);
    result.away += census.pages - census.untouched - census.unknown - census.on(node);
    result.homes.push_back({d.index, node, std::move(census)});
  }
  return result;
}

}  // namespace detail

page_census where(memory_view seen) {
  const memory_range& range = seen.range();
  const topology::snapshot machine = topology::current();
  const address_range pages = memory::pages_of(range, page_bytes(), "where");
  const auto mappings = mappings_for(machine, pages);
  const std::vector<int> one_owner(pages.bytes() / page_bytes(), 0);
  return memory::count_pages(look(machine, pages, mappings, one_owner), [](std::size_t) { return true; });
}

placed_range localize(memory_range range, domain_index home, const placement_options& options) {
  const topology::snapshot machine = topology::current();
  detail::expects(to_index(home) < machine.domains().size(), "localize", "the current machine has no such domain");
  return to_one(range, {machine.memory_id(home), home}, options);
}

placed_range localize(memory_range range, node_index home, const placement_options& options) {
  const topology::snapshot machine = topology::current();
  detail::expects(to_index(home) < machine.nodes().size(), "localize", "the current machine has no such node");
  return to_one(range, target_of_node(machine, home), options);
}

placed_range interleave(memory_range range, std::span<const node_index> nodes, const placement_options& options) {
  const topology::snapshot machine = topology::current();
  const address_range pages = memory::pages_of(range, page_bytes(), "interleave");
  if (is_idle(machine, options)) return one_node_is_enough(range, pages);
  std::vector<home_target> targets;
  for (const node_index node : nodes) {
    detail::expects(to_index(node) < machine.nodes().size(), "interleave", "the current machine has no such node");
    targets.push_back(target_of_node(machine, node));
  }
  for (const topology::node_info& n : machine.nodes()) {
    const bool is_default = nodes.empty() && n.memory == topology::node_memory::usable && !n.cpus.empty();
    if (is_default) targets.push_back(target_of_node(machine, n.index));
  }
  // No node has both: then those that the domains' memory comes from.
  if (targets.empty()) targets.push_back({machine.memory_id(domain_index{0}), domain_index{0}});
  return carry_out({machine, pages, targets, later_policy::interleaved, options}, "interleave",
                   [&](const auto& mappings) {
                     page_plan plan = plan_for({nullptr, run_to_first}, range, 1, pages, machine, mappings);
                     deal(plan, targets.size());
                     return plan;
                   });
}

namespace {

// Of the bytes that an object holds, the next stretch that is still its own, and is nobody's from now on.
template <class Bytes>
std::optional<address_range> next_held(const Bytes& held) noexcept {
  if (held.bytes == 0) return std::nullopt;
  const auto first = reinterpret_cast<platform::address>(held.address);
  return memory::process_policy_owners().give_up({first, first + held.bytes}, held.owner);
}

}  // namespace

placed_range::placed_range(placed_range&& other) noexcept
    : held_(std::exchange(other.held_, {})), report_(std::move(other.report_)), ok_(other.ok_) {}

placed_range& placed_range::operator=(placed_range&& other) noexcept {
  if (this != &other) {
    reset();
    held_ = std::exchange(other.held_, {});
    report_ = std::move(other.report_);
    ok_ = other.ok_;
  }
  return *this;
}

placed_range::~placed_range() { reset(); }

void placed_range::release() noexcept {
  const span_of_bytes held = std::exchange(held_, {});
  while (next_held(held)) continue;
}

int placed_range::reset() noexcept {
  const span_of_bytes held = std::exchange(held_, {});
  int first_error = 0;
  while (const auto pages = next_held(held)) {
    const int error = take_back(*pages, held.is_virtual);
    if (first_error == 0) first_error = error;
  }
  return first_error;
}

}  // namespace homing
