#include "memory/new_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "memory/home_book.hpp"
#include "memory/page_locations.hpp"

namespace homing::memory {

using platform::address;
using platform::address_range;
using platform::huge_advice;

namespace {

bool is_of_sandbox(int error) noexcept { return error == EPERM || error == ENOSYS || error == EACCES; }

platform::cpu_set cpus_of(const topology::domain_info& domain) {
  platform::cpu_set cpus;
  for (const cpu_id cpu : domain.runs_on) cpus.add(cpu);
  return cpus;
}

}  // namespace

new_pages::new_pages(platform::page_calls& calls, platform::address_space& space, topology::snapshot machine,
                     std::vector<page_home> homes, const memory_options& options)
    : calls_(calls), space_(space), machine_(std::move(machine)), homes_(std::move(homes)), options_(options) {
  for (const page_home& home : homes_) nodes_.add(home.node);
}

std::size_t new_pages::grain_bytes() const noexcept {
  return options_.pages == page_kind::huge && calls_.huge_page_bytes() > 0 ? calls_.huge_page_bytes()
                                                                           : calls_.page_bytes();
}

new_pages_result new_pages::take(std::size_t front, std::size_t bytes, std::size_t alignment) const noexcept {
  new_pages_result result;
  const address_range range = space_.map(front, bytes, alignment);
  if (range.bytes() == 0) {
    result.error_number = ENOMEM;
    return result;
  }
  result.range = range;
  try {
    if (options_.pages == page_kind::huge) {
      result.error_number = space_.advise(range, huge_advice::wanted);  // a kernel without huge pages: said, no more
    } else if (is_dealt()) {
      // A huge page would take 512 turns at once; refused by kernels without them, which is as good.
      static_cast<void>(space_.advise(range, huge_advice::unwanted));
    }
    if (homes_.empty()) return result;
    const placing done = machine_.is_virtual() ? placing{write_down(range), true} : place(range);
    if (done.error_number != 0) {
      result.is_unplaced = true;
      result.error_number = done.error_number;
    }
    if (options_.when_full == on_full::spill) return result;
    if (!result.is_unplaced && (done.is_touched || touch(range)) && (machine_.is_virtual() || all_are_home(range))) {
      return result;
    }
  } catch (const std::bad_alloc&) {
  }
  give_back(range);
  result.range = {};
  if (result.error_number == 0) result.error_number = ENOMEM;
  return result;
}

void new_pages::give_back(address_range range) const noexcept {
  if (machine_.is_virtual() && !homes_.empty()) {
    try {
      process_home_book().forget(range);
    } catch (const std::bad_alloc&) {  // then the book has an entry too many, until the address is used again
    }
  }
  space_.unmap(range);
}

// The kernel's policy, or else threads of the homes, which touch the pages first.
new_pages::placing new_pages::place(address_range range) const {
  const auto mode = is_dealt() ? platform::policy_mode::interleave : platform::policy_mode::preferred;
  const int error = calls_.set_policy(range, mode, nodes_, platform::existing_pages::leave);
  if (error == 0 || !is_of_sandbox(error)) return {error, false};
  if (touch_from_homes(range) != 0) return {error, false};
  return {0, true};
}

int new_pages::touch_from_homes(address_range range) const {
  for (const page_home& home : homes_) {
    if (!home.domain) return ENODEV;  // a tier has no thread
  }
  const std::size_t grain = is_dealt() ? grain_bytes() : calls_.page_bytes();
  std::vector<int> errors(homes_.size(), 0);
  const auto touch = [&](std::size_t h, const platform::cpu_set& cpus) noexcept {
    errors[h] = calls_.bind_thread(cpus);
    if (errors[h] != 0) return;
    for (address at = range.first; at < range.last; at += calls_.page_bytes()) {
      if (at / grain % homes_.size() == h) space_.touch(at);
    }
  };
  std::vector<platform::cpu_set> cpus;
  for (const page_home& home : homes_) cpus.push_back(cpus_of(machine_.at(*home.domain)));
  for (std::size_t h = 0; h < homes_.size(); ++h) {  // one after the other: each is there to be placed, not to be fast
    try {
      std::thread(touch, h, std::cref(cpus[h])).join();
    } catch (const std::exception&) {  // no thread, or no memory for one
      errors[h] = EAGAIN;
    }
  }
  const auto refused = std::find_if(errors.begin(), errors.end(), [](int e) { return e != 0; });
  return refused == errors.end() ? 0 : *refused;
}

// Only pages that are there can be on a full node or not. (Those that threads of the home have touched are there.)
bool new_pages::touch(address_range range) const {
  const int error = calls_.populate(range);
  if (error == ENOMEM) return false;
  if (error != 0) {  // before Linux 5.14
    for (address at = range.first; at < range.last; at += calls_.page_bytes()) space_.touch(at);
  }
  return true;
}

bool new_pages::all_are_home(address_range range) const {
  if (const auto told = all_on(calls_, range, nodes_)) return *told;
  const std::vector<int> one_owner(range.bytes() / calls_.page_bytes(), 0);
  const page_locations seen = locate(calls_, range, calls_.mappings(range), one_owner);
  return std::all_of(seen.node.begin(), seen.node.end(),
                     [&](int node) { return node >= 0 && nodes_.contains(node_id{node}); });
}

// Dealt over those of the nodes that have memory, as a kernel does; if none has, it refuses.
int new_pages::write_down(address_range range) const {
  std::vector<int> usable;
  for (const page_home& home : homes_) {
    const auto at = machine_.find(home.node);
    if (at && machine_.at(*at).memory == topology::node_memory::usable) usable.push_back(to_number(home.node));
  }
  if (usable.empty()) return EINVAL;
  std::vector<int> node(range.bytes() / calls_.page_bytes());
  for (std::size_t p = 0; p < node.size(); ++p) {
    const std::size_t turn = (range.first + p * calls_.page_bytes()) / grain_bytes();
    node[p] = usable[turn % usable.size()];
  }
  process_home_book().write(range.first, calls_.page_bytes(), node);
  return 0;
}

}  // namespace homing::memory
