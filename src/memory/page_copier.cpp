#include "memory/page_copier.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>

namespace homing::memory {
namespace {

platform::cpu_set cpus_of(const topology::domain_info& domain) {
  platform::cpu_set cpus;
  for (const cpu_id cpu : domain.runs_on) cpus.add(cpu);
  return cpus;
}

// Returns 0 or the errno; the unit is unchanged then.
int copy_unit(platform::page_calls& calls, platform::address_range unit, std::byte* aside) noexcept {
  std::memcpy(aside, reinterpret_cast<const void*>(unit.first), unit.bytes());
  if (const int error = calls.drop(unit); error != 0) return error;
  calls.restore(unit.first, aside, unit.bytes());
  return 0;
}

}  // namespace

void copy_home(platform::page_calls& calls, const topology::snapshot& machine, const std::vector<copy_order>& orders,
               const std::function<void(std::size_t order, std::size_t unit, int error_number)>& done) {
  const auto work = [&](std::size_t o, const platform::cpu_set& cpus, std::byte* aside) {
    const int refused = calls.bind_thread(cpus);
    for (std::size_t u = 0; u < orders[o].units.size(); ++u) {
      done(o, u, refused != 0 ? refused : copy_unit(calls, orders[o].units[u], aside));
    }
  };
  // All memory that the threads need comes before any page is touched.
  std::vector<platform::cpu_set> cpus;
  std::vector<std::unique_ptr<std::byte[]>> asides;
  std::vector<std::thread> threads;
  threads.reserve(orders.size());
  for (const copy_order& order : orders) {
    std::size_t largest = 0;
    for (const auto& unit : order.units) largest = std::max(largest, unit.bytes());
    cpus.push_back(cpus_of(machine.at(order.home)));
    asides.push_back(std::make_unique_for_overwrite<std::byte[]>(largest));
  }
  for (std::size_t o = 0; o < orders.size(); ++o) {
    try {
      threads.emplace_back(work, o, std::cref(cpus[o]), asides[o].get());
    } catch (const std::exception&) {  // no thread, or no memory for one
      for (std::size_t u = 0; u < orders[o].units.size(); ++u) done(o, u, EAGAIN);
    }
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace homing::memory
