#include "pacer.hpp"

#include <sched.h>

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
    const bool counts = cpu.running.load(std::memory_order_relaxed) && !cpu.aside.load(std::memory_order_relaxed);
    if (&cpu != &but && counts) t = std::min(t, cpu.now());
  }
  return t;
}

void pacer::check(cpu_state& cpu) noexcept {
  cpu.catch_up(floor_.load(std::memory_order_relaxed));
  cpu.next_check = cpu.now() + look_;
  wait(cpu, quantum_);
}

void pacer::wait(const cpu_state& cpu, ticks slack) noexcept {
  const auto ahead = [&] { return cpu.now() > slack && cpu.now() - slack > slowest(cpu); };
  if (!ahead()) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  // Most waits are over when the slower CPUs' threads had the host's processor once.
  for (unsigned i = 0; i != yields_max; ++i) {
    sched_yield();
    if (!ahead()) return;
  }
  for (unsigned i = 0; i != pauses_max; ++i) {
    pause_();
    if (!ahead()) return;
  }
  given_up_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace homing::lab::model
