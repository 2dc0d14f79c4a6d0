#include "pacer.hpp"

#include <algorithm>
#include <limits>

namespace homing::lab::model {

ticks pacer::front() const noexcept {
  ticks t = floor_.load(std::memory_order_relaxed);
  for (const cpu_state& cpu : cpus_) t = std::max(t, cpu.program.load(std::memory_order_relaxed));
  return t;
}

ticks pacer::slowest(const cpu_state& but) const noexcept {
  ticks t = std::numeric_limits<ticks>::max();
  for (const cpu_state& cpu : cpus_) {
    if (&cpu != &but && cpu.running.load(std::memory_order_relaxed)) t = std::min(t, cpu.now());
  }
  return t;
}

void pacer::check(cpu_state& cpu) noexcept {
  cpu.catch_up(floor_.load(std::memory_order_relaxed));
  cpu.next_check = cpu.now() + look_;
  const auto ahead = [&] { return cpu.now() > quantum_ && cpu.now() - quantum_ > slowest(cpu); };
  if (!ahead()) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i != pauses_max; ++i) {
    pause_();
    if (!ahead()) return;
  }
  given_up_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace homing::lab::model
