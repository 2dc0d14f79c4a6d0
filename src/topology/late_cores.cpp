#include "topology/late_cores.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "topology/facts.hpp"

namespace homing::topology {
namespace {

/// `facts`: with CPUs in ascending order.
std::unique_ptr<const cpu_places> join(const cpu_places& known, const std::vector<cpu_fact>& facts) {
  auto result = std::make_unique<cpu_places>();
  for (const cpu_places::place& place : known.all) {
    const auto found = std::lower_bound(facts.begin(), facts.end(), place.cpu,
                                        [](const cpu_fact& fact, cpu_id cpu) { return fact.id < cpu; });
    const bool is_there = found != facts.end() && found->id == place.cpu;
    result->add({place.cpu, place.domain, place.node, is_there ? found->core : -1, is_there ? found->core_type : -1});
  }
  result->finish();
  return result;
}

}  // namespace

const cpu_places* late_cores::read(const cpu_places& known) noexcept try {
  const cpu_places* now = read_.load(sync::acquire);
  if (now != nullptr) return now;
  const facts_result facts = read_facts(source::origin::real, "");
  if (!facts.error.empty()) return nullptr;
  auto fresh = join(known, facts.value.cpus);
  // acq_rel: publishes the places, or acquires those of another thread that has read them, too.
  return read_.compare_exchange_strong(now, fresh.get(), sync::acq_rel, sync::acquire) ? fresh.release() : now;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace homing::topology
