#include "at_home.hpp"

#include <homing/topology.hpp>

#include <algorithm>
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

void count_work(const homing::regular_distribution<3>& homes, const homing::box<3>& part) noexcept {
  std::size_t near = 0;
  homes.for_each_box(homing::topology::current_domain(), [&](const homing::box<3>& own) {
    std::size_t points = 1;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t first = std::max(own.first[k], part.first[k]);
      points *= std::max(first, std::min(own.last[k], part.last[k])) - first;
    }
    near += points;
  });
  std::size_t all = 1;
  for (std::size_t k = 0; k < 3; ++k) all *= part.last[k] - part.first[k];
  mine().at_home += near;
  mine().away += all - near;
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
