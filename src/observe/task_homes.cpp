#include "observe/task_homes.hpp"

#include <new>

namespace homing::observe {

task_homes::row* task_homes::row_of(unsigned ran_in, unsigned domain_count) noexcept {
  for (row* r = newest_.load(sync::relaxed); r != nullptr; r = r->next) {  // relaxed: only the owner writes
    if (r->ran_in == ran_in) return r;
  }
  auto* counts = new (std::nothrow) sync::atomic<std::uint64_t>[domain_count]();
  auto* made = new (std::nothrow) row{ran_in, domain_count, newest_.load(sync::relaxed), counts};
  if (counts == nullptr || made == nullptr) {
    delete[] counts;
    delete made;
    return nullptr;
  }
  newest_.store(made, sync::release);  // partner: for_each()
  return made;
}

void task_homes::leave_domain(unsigned domain, std::uint64_t at_home, unsigned domain_count) noexcept {
  const std::uint64_t accounted = accounted_.load(sync::relaxed);
  if (at_home == accounted) return;
  row* const r = row_of(domain, domain_count);
  if (r == nullptr || domain >= r->size) return;
  add(r->count[domain], at_home - accounted);
  accounted_.store(at_home, sync::relaxed);
}

void task_homes::begin_anew() noexcept {
  for (row* r = newest_.load(sync::relaxed); r != nullptr; r = r->next) {
    for (unsigned home = 0; home < r->size; ++home) r->count[home].store(0, sync::relaxed);
  }
  accounted_.store(0, sync::relaxed);
}

}  // namespace homing::observe
