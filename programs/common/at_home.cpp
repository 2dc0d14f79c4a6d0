#include "at_home.hpp"

#include <homing/topology.hpp>

#include <deque>
#include <mutex>

namespace programs {
namespace {

struct alignas(128) counters {
  work_done done;
};

std::mutex registering;
std::deque<counters> all;  // never shrinks: a thread's counters outlive it

work_done& mine() {
  thread_local counters* const own = [] {
    const std::lock_guard lock(registering);
    return &all.emplace_back();
  }();
  return own->done;
}

}  // namespace

void count_work(homing::domain_index home, std::uint64_t items) noexcept {
  (home == homing::topology::current_domain() ? mine().at_home : mine().away) += items;
}

void count_work(const homing::regular_distribution<1>& homes, std::size_t first, std::size_t last) noexcept {
  const homing::domain_index here = homing::topology::current_domain();
  std::size_t near = 0;
  homing::for_each_piece_of(homes, here, first, last, [&](const homing::piece& p) { near += p.last - p.first; });
  mine().at_home += near;
  mine().away += last - first - near;
}

work_done counted_work() noexcept {
  const std::lock_guard lock(registering);
  work_done sum;
  for (const counters& c : all) {
    sum.at_home += c.done.at_home;
    sum.away += c.done.away;
  }
  return sum;
}

void forget_work() noexcept {
  const std::lock_guard lock(registering);
  for (counters& c : all) c.done = {};
}

}  // namespace programs
