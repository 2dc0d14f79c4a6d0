/// Keeps the CPUs' clocks together: one that is far ahead of the slowest running one waits for it a while.
///
/// Waits are bounded, for QEMU's exclusive sections need every CPU to come out of translated code: one that waited
/// for ever for a CPU that waits for it would end the world. Idle CPUs have no time; they catch up when they wake.
/// Threads: check() and wake() by each CPU's own thread, front() by any.
/// Source:  docs/protocols/lab_model.md [LM7], [LM8].
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "cpu.hpp"
#include "precision.hpp"
#include "units.hpp"

namespace homing::lab::model {

class pacer {
 public:
  static constexpr unsigned pauses_max = 200;  // a wait's bound, in calls of the pause

  /// `pause` gives other CPUs some host time. `cpus` lives as long.
  pacer(const std::deque<cpu_state>& cpus, precision p, void (*pause)())
      : cpus_(cpus), quantum_(p.quantum()), look_(p.look()), pause_(pause) {}

  /// The farthest clock at which some of the program ran: what the kernel does on CPUs that are idle otherwise does
  /// not count.
  [[nodiscard]] ticks front() const noexcept;
  /// Waits if this CPU is too far ahead, brings it up to the floor, and says when it has to look again.
  void check(cpu_state& cpu) noexcept;
  /// A CPU that was idle goes on where the farthest one is: whoever woke it is not later than that.
  void wake(cpu_state& cpu) noexcept {
    cpu.catch_up(front());
    cpu.running.store(true, std::memory_order_relaxed);
  }
  /// Nobody is to be earlier than `t` from now on.
  void raise_floor(ticks t) noexcept { floor_.store(t, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  /// Waits that ended by their bound.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] ticks slowest(const cpu_state& but) const noexcept;

  const std::deque<cpu_state>& cpus_;
  ticks quantum_, look_;
  void (*pause_)();
  std::atomic<ticks> floor_{0};
  std::atomic<std::uint64_t> waits_{0}, given_up_{0};
};

}  // namespace homing::lab::model
