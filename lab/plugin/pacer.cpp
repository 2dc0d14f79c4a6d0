#include "pacer.hpp"

#include <algorithm>

namespace homing::lab::model {

ticks pacer::front() const noexcept {
  ticks t = floor_.load(std::memory_order_relaxed);
  for (const cpu_state& cpu : cpus_) t = std::max(t, cpu.program.load(std::memory_order_relaxed));
  return t;
}

pacer::seen pacer::slowest(const cpu_state& but) const noexcept {
  seen found;
  for (cpu_state& cpu : cpus_) {
    if (&cpu == &but || !counts(cpu)) continue;
    // Read once: the one that was slowest may overtake another, already passed over, before the last has been read.
    const ticks at = place(cpu);
    if (found.cpu == nullptr || at < found.at) found = {&cpu, at};
  }
  return found;
}

void pacer::check(cpu_state& cpu) noexcept {
  cpu.catch_up(floor_.load(std::memory_order_relaxed));
  cpu.next_check = cpu.now() + look_;
  wait(cpu, quantum_, look_);
}

/// Waits if somebody is earlier by more than `slack`, until nobody is by more than `slack_then`.
void pacer::wait(cpu_state& cpu, ticks slack, ticks slack_then) noexcept {
  progress(cpu);
  const auto behind = [&](ticks by) {
    const seen other = cpu.now() > by ? slowest(cpu) : seen{};
    return other.cpu != nullptr && other.at < cpu.now() - by ? other.cpu : nullptr;
  };
  if (behind(slack) == nullptr) return;
  waits_.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i != looks_max; ++i) {  // the other is often nearly there, and runs on another processor
    __builtin_ia32_pause();
    if (behind(slack) == nullptr) return;
  }
  for (unsigned i = 0; i != sleeps_max; ++i) {
    const std::uint32_t rings = cpu.wait.woken.rings();
    cpu_state* const other = behind(slack_then);
    if (other == nullptr) return;
    hang(cpu, *other, cpu.now() - slack_then);
    if (reached(*other) < cpu.now() - slack_then) {
      sleep_(cpu.wait.woken, rings);
      drop_call_of_one_at_rest(*other);
    }
    cpu.wait.on.store(nullptr, std::memory_order_relaxed);
  }
  given_up_.fetch_add(1, std::memory_order_relaxed);
}

/// A CPU that was on its way to its rest seemed to have got an interrupt.
void pacer::drop_call_of_one_at_rest(cpu_state& cpu) noexcept {
  if (cpu.running.load(std::memory_order_relaxed) || cpu.called.load(std::memory_order_relaxed) == waiting::never)
    return;
  for (unsigned i = 0; i != cpus_.size(); ++i) {
    // Relaxed: a call that comes just now may be lost, and that CPU goes on where the slowest is.
    if (&cpus_[i] == &cpu && !runs_(i)) cpu.called.store(waiting::never, std::memory_order_relaxed);
  }
}

void pacer::hang(cpu_state& waiter, cpu_state& on, ticks until) noexcept {
  // Relaxed, all of it: who is missed sleeps for a millisecond and looks again.
  waiter.wait.until.store(until, std::memory_order_relaxed);
  waiter.wait.on.store(&on, std::memory_order_relaxed);
  ticks earliest = on.wait.awaited.load(std::memory_order_relaxed);
  while (until < earliest && !on.wait.awaited.compare_exchange_weak(earliest, until, std::memory_order_relaxed)) {
  }
}

void pacer::let_go(cpu_state& cpu) noexcept {
  cpu.wait.awaited.store(waiting::never, std::memory_order_relaxed);
  const ticks here = reached(cpu);
  for (cpu_state& waiter : cpus_) {
    if (waiter.wait.on.load(std::memory_order_relaxed) != &cpu) continue;
    const ticks until = waiter.wait.until.load(std::memory_order_relaxed);
    cpu_state* const next = here < until ? &cpu : slowest(waiter).cpu;
    if (next != nullptr && reached(*next) < until) {
      hang(waiter, *next, until);
    } else {
      waiter.wait.on.store(nullptr, std::memory_order_relaxed);
      waiter.wait.woken.ring();
    }
  }
}

}  // namespace homing::lab::model
