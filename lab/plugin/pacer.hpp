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
  static constexpr unsigned yields_max = 10, pauses_max = 1000;  // a wait's bound: looks, then calls of the pause
  /// How much earlier another CPU may be when a line that is fought over changes hands.
  static constexpr ticks turn_slack = 50 * ticks_per_cycle;

  /// `pause` gives other CPUs some host time; `wake` is how long an idle CPU takes to go on. `cpus` lives as long.
  pacer(const std::deque<cpu_state>& cpus, precision p, ticks wake, void (*pause)())
      : cpus_(cpus), quantum_(p.quantum()), look_(p.look()), wake_(wake), pause_(pause) {}

  /// The farthest clock at which some of the program ran: what the kernel does on CPUs that are idle otherwise does
  /// not count.
  [[nodiscard]] ticks front() const noexcept;
  /// Waits if this CPU is too far ahead, brings it up to the floor, and says when it has to look again.
  void check(cpu_state& cpu) noexcept;
  /// Waits until no running CPU is earlier than this one, but for the slack. [LM11]
  void take_turn(cpu_state& cpu) noexcept { wait(cpu, turn_slack); }
  /// A CPU that was idle goes on where the farthest one is, as whoever woke it is not later than that, and a while
  /// after. [LM8]
  void wake(cpu_state& cpu) noexcept {
    cpu.catch_up(front() + wake_);
    cpu.running.store(true, std::memory_order_relaxed);
  }
  /// Nobody is to be earlier than `t` from now on.
  void raise_floor(ticks t) noexcept { floor_.store(t, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  /// Waits that ended by their bound.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] ticks slowest(const cpu_state& but) const noexcept;
  void wait(const cpu_state& cpu, ticks slack) noexcept;

  const std::deque<cpu_state>& cpus_;
  ticks quantum_, look_, wake_;
  void (*pause_)();
  std::atomic<ticks> floor_{0};
  std::atomic<std::uint64_t> waits_{0}, given_up_{0};
};

}  // namespace homing::lab::model
