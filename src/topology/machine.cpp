/// Questions about a machine that need more than a look into an array.
#include "topology/machine.hpp"

#include <algorithm>

namespace homing::topology {
namespace {

// oneTBB packs several core types into one int: the top four bits are 1000, the others a set.
// Source: multi_core_type_codec in its header detail/_utils.h (2023.2).
bool type_matches(int wanted, int type) noexcept {
  constexpr unsigned set_bits = 28;
  const auto code = static_cast<unsigned>(wanted);
  if (code >> set_bits == 0x8) {
    return type >= 0 && type < static_cast<int>(set_bits) && (code >> static_cast<unsigned>(type) & 1U) != 0;
  }
  return wanted < 0 || wanted == type;
}

}  // namespace

const cpu_places& machine::with_cores() const noexcept {
  const cpu_places* const late = late_cores_ != nullptr ? late_cores_->read(places_) : nullptr;
  return late != nullptr ? *late : places_;
}

std::optional<domain_index> machine::domain_of_cpu(cpu_id cpu) const noexcept {
  const auto at = static_cast<std::size_t>(static_cast<int>(cpu));  // -1 becomes huge
  if (at >= domain_of_real_cpu_.size() || domain_of_real_cpu_[at] == no_domain) return std::nullopt;
  return static_cast<domain_index>(domain_of_real_cpu_[at]);
}

std::optional<std::uint64_t> machine::attribute(memory_attribute what, domain_index from,
                                                node_index to) const noexcept {
  for (const attribute_value& known : attributes_) {
    if (known.what == what && known.from == from && known.to == to) return known.value;
  }
  return std::nullopt;
}

const cpu_places& machine::places_for(const constraints_query& query) const noexcept {
  return query.core_type != -1 || query.max_threads_per_core > 0 ? with_cores() : places_;
}

template <class F>
void machine::for_each_match(const cpu_places& places, const constraints_query& query, F&& f) {
  const cpu_places::place* previous = nullptr;
  int taken_of_core = 0;
  for (const cpu_places::place& place : places.all) {
    if (query.numa_id >= 0 && place.node != query.numa_id) continue;
    if (!type_matches(query.core_type, place.core_type)) continue;
    if (previous == nullptr || previous->core != place.core) taken_of_core = 0;
    previous = &place;
    if (query.max_threads_per_core > 0 && taken_of_core >= query.max_threads_per_core) continue;
    ++taken_of_core;
    f(place);
  }
}

unsigned machine::concurrency(const constraints_query& query) const {
  unsigned count = 0;
  for_each_match(places_for(query), query, [&](const cpu_places::place&) { ++count; });
  return std::min(count, default_concurrency_);
}

unsigned machine::threads_per_core(const constraints_query& query) const {
  unsigned most = 0;
  unsigned here = 0;
  int core = 0;
  for_each_match(with_cores(), query, [&](const cpu_places::place& place) {
    here = here > 0 && place.core == core ? here + 1 : 1;
    core = place.core;
    most = std::max(most, here);
  });
  return most;
}

std::vector<unsigned> machine::allowed_cpus_by_domain(const constraints_query& query) const {
  std::vector<unsigned> counts(domains_.size());
  count_allowed_cpus(query, counts);
  return counts;
}

void machine::count_allowed_cpus(const constraints_query& query, std::span<unsigned> by_domain) const noexcept {
  std::fill(by_domain.begin(), by_domain.end(), 0);
  for_each_match(places_for(query), query,
                 [&](const cpu_places::place& place) { ++by_domain[to_index(place.domain)]; });
}

}  // namespace homing::topology
