/// Keeps an application thread in one domain for as long as it is registered: HOMING_PIN_MASTERS=1.
///
/// External threads are dealt like workers, in proportion to the domains' CPUs; the first stays in the domain that it
/// is in. A thread whose mask lies in one domain already, since its user has bound it, keeps that mask.
///
/// Threads: made and ended by the thread itself; the manager outlives it.
/// Source:  TBB-NUMA 4.1.
#pragma once

#include "platform/cpu_set.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

class resource_manager;

class external_thread_pin {
 public:
  /// A refused system call is said once on stderr; the thread then stays as it is.
  external_thread_pin(resource_manager& manager, thread_state& t);
  /// Gives the thread its old mask back.
  ~external_thread_pin();
  external_thread_pin(const external_thread_pin&) = delete;
  external_thread_pin& operator=(const external_thread_pin&) = delete;

  /// True if the environment asks for it; false on a machine of one domain.
  [[nodiscard]] static bool wanted(const resource_manager& manager) noexcept;

 private:
  resource_manager& manager_;
  thread_state& thread_;
  platform::cpu_set before_;  ///< empty: nothing to give back
};

}  // namespace homing::scheduler
