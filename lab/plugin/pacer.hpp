/// Keeps the CPUs' clocks together: one that is far ahead of the slowest running one sleeps until that has caught up.
///
/// Who waits hangs itself on the slowest CPU, which wakes it when its clock is there, or hands it on to who is slower
/// by then. So the host runs those that others wait for, and no one else.
/// Waits are bounded, for QEMU's exclusive sections need every CPU to come out of translated code: one that waited
/// for ever for a CPU that waits for it would end the world. Idle CPUs have no time; they catch up when they wake.
/// Threads: check(), take_turn(), progress(), wake() and rest() by each CPU's own thread, call() by `by`'s, front() by
///          any.
/// Source:  docs/protocols/lab_model.md [LM7], [LM8].
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "bell.hpp"
#include "cpu.hpp"
#include "precision.hpp"
#include "stable_vector.hpp"
#include "units.hpp"

namespace homing::lab::model {

class pacer {
 public:
  static constexpr unsigned looks_max = 20, sleeps_max = 100;  // a wait's bound: looks, then sleeps
  /// How much earlier another CPU may be when a line that is fought over changes hands.
  static constexpr ticks turn_slack = 50 * ticks_per_cycle;

  /// `sleep` gives others the host's processor until the bell rings, and is done soon in any case; `wake` is how long
  /// an idle CPU takes to go on. `cpus` lives as long.
  using sleeper = void (*)(bell&, std::uint32_t rings);
  /// Whether the host runs a CPU, or would if it had a processor for it.
  using seen_running = bool (*)(unsigned cpu);
  static bool not_seen(unsigned) noexcept { return false; }
  pacer(stable_vector<cpu_state>& cpus, precision p, ticks wake, sleeper sleep, seen_running runs = not_seen)
      : cpus_(cpus), quantum_(p.quantum()), look_(p.look()), wake_(wake), sleep_(sleep), runs_(runs) {}

  /// The farthest clock at which some of the program ran: what the kernel does on CPUs that are idle otherwise does
  /// not count.
  [[nodiscard]] ticks front() const noexcept;
  /// Waits if this CPU is too far ahead, brings it up to the floor, and says when it has to look again.
  void check(cpu_state& cpu) noexcept;
  /// Waits until no running CPU is earlier than this one, but for the slack. [LM11]
  void take_turn(cpu_state& cpu) noexcept { wait(cpu, turn_slack, turn_slack); }
  /// Others run, and this CPU is ahead of the slowest by more than the quantum; or nobody else runs.
  [[nodiscard]] bool leads(const cpu_state& cpu) const noexcept {
    const seen other = slowest(cpu);
    return other.cpu == nullptr || cpu.now() > other.at + quantum_;
  }
  /// This CPU has got further, or is one that nobody waits for: who waits for it goes on.
  void progress(cpu_state& cpu) noexcept {
    if (cpu.wait.awaited.load(std::memory_order_relaxed) <= reached(cpu)) [[unlikely]]
      let_go(cpu);
  }
  /// `by` has sent interrupts, perhaps to an idle CPU: to that one if the host runs it. Others wait for it then as if
  /// it ran from a while later on.
  void call(unsigned idle, const cpu_state& by) noexcept {
    cpu_state& cpu = cpus_[idle];
    if (!by.running.load(std::memory_order_relaxed) || cpu.running.load(std::memory_order_relaxed)) return;
    // seq_cst, all four: it may have had a look meanwhile, and rest again, and then nobody would take this call back.
    // Either the last look here sees that, or rest() clears what is written before. Partner: rest().
    const std::uint64_t rests = cpu.rests.load(std::memory_order_seq_cst);
    ticks expected = waiting::never;  // the first call counts
    if (!runs_(idle) || !cpu.called.compare_exchange_strong(expected, by.now(), std::memory_order_seq_cst)) return;
    if (cpu.rests.load(std::memory_order_seq_cst) != rests) cpu.called.store(waiting::never, std::memory_order_seq_cst);
  }
  /// A CPU that was called goes on a while after that. Others have waited, so a call that is far behind them was none:
  /// it was seen on its way to its rest. Who was not called, but woken by a timer, goes on where the slowest running
  /// one is, and that while after. (To begin at the farthest clock pushes that on with each CPU that wakes, though they
  /// all wake at once.) Where nobody runs it goes on where the program was last. [LM8]
  void wake(cpu_state& cpu) noexcept {
    const seen other = slowest(cpu);
    const ticks others = other.cpu != nullptr ? std::max(other.at, floor_.load(std::memory_order_relaxed)) : front();
    const ticks called = cpu.called.load(std::memory_order_relaxed);
    const bool is_called = called != waiting::never && others <= called + 2 * (wake_ + quantum_);
    cpu.catch_up((is_called ? std::max(called, floor_.load(std::memory_order_relaxed)) : others) + wake_);
    cpu.running.store(true, std::memory_order_relaxed);
    cpu.called.store(waiting::never, std::memory_order_relaxed);
  }
  /// A CPU has nothing to do, or had not, whoever called it: nobody waits for it.
  void rest(cpu_state& cpu) noexcept {
    cpu.running.store(false, std::memory_order_relaxed);
    // seq_cst: counted before the call is taken back; partner: call(), which writes one and then looks at the count.
    cpu.rests.fetch_add(1, std::memory_order_seq_cst);
    cpu.called.store(waiting::never, std::memory_order_seq_cst);
    progress(cpu);
  }
  /// Nobody is to be earlier than `t` from now on.
  void raise_floor(ticks t) noexcept { floor_.store(t, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }
  /// Waits that ended by their bound.
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }

 private:
  /// Whether others wait for it: it runs, or has been called to.
  [[nodiscard]] static bool counts(const cpu_state& cpu) noexcept {
    return (cpu.running.load(std::memory_order_relaxed) ||
            cpu.called.load(std::memory_order_relaxed) != waiting::never) &&
           !cpu.aside.load(std::memory_order_relaxed);
  }
  /// Of one that counts.
  [[nodiscard]] ticks place(const cpu_state& cpu) const noexcept {
    const bool runs = cpu.running.load(std::memory_order_relaxed);
    const ticks called = runs ? waiting::never : cpu.called.load(std::memory_order_relaxed);
    return called == waiting::never ? cpu.now() : std::max(cpu.now(), called + wake_);
  }
  /// As far as others need to wait for it.
  [[nodiscard]] ticks reached(const cpu_state& cpu) const noexcept {
    return counts(cpu) ? place(cpu) : waiting::never - 1;
  }
  /// One that counts, and where it was when it was read: no later than it is now. None: null.
  struct seen {
    cpu_state* cpu = nullptr;
    ticks at = 0;
  };
  [[nodiscard]] seen slowest(const cpu_state& but) const noexcept;
  void wait(cpu_state& cpu, ticks slack, ticks slack_then) noexcept;
  void hang(cpu_state& waiter, cpu_state& on, ticks until) noexcept;
  void let_go(cpu_state& cpu) noexcept;
  void drop_call_of_one_at_rest(cpu_state& cpu) noexcept;

  stable_vector<cpu_state>& cpus_;
  ticks quantum_, look_, wake_;
  sleeper sleep_;
  seen_running runs_;
  std::atomic<ticks> floor_{0};
  std::atomic<std::uint64_t> waits_{0}, given_up_{0};
};

}  // namespace homing::lab::model
