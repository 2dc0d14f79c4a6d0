#include "runtime/settings/control.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "runtime/settings/control_access.hpp"
#include "sync/atomic.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {
namespace {

using tbb::detail::d1::global_control;

constexpr std::size_t parameter_count = global_control::parameter_max;
constexpr std::size_t default_stack_bytes = std::size_t{4} << 20U;

/// Threads read some of them on their way, while a program changes another around each loop: a line each.
struct alignas(sync::cache_line_bytes) parameter_state {
  std::vector<global_control*> live;
  sync::atomic<std::size_t> active{0};  ///< meaningful while `live` is not empty
  sync::atomic<bool> is_set{false};
};

alignas(sync::cache_line_bytes) std::mutex controls_lock;

/// Never destroyed: threads may make and end controls while static objects are.
union parameter_states {
  constexpr parameter_states() noexcept : of{} {}
  ~parameter_states() {}
  std::array<parameter_state, parameter_count> of;
};
constinit parameter_states all_parameters;

parameter_state& state_of(std::size_t parameter) noexcept { return all_parameters.of[parameter]; }

sync::atomic<unsigned> usable_now{0};  ///< 0: as the machine was when the process began

bool smaller_wins(std::size_t parameter) noexcept { return parameter == global_control::max_allowed_parallelism; }

std::size_t default_of(std::size_t parameter) {
  switch (parameter) {
    case global_control::max_allowed_parallelism:
      // relaxed: one number; whoever has to obey it now is told.
      if (const unsigned now = usable_now.load(sync::relaxed)) {
        return now;
      }
      return topology::process_machine().default_concurrency();
    case global_control::thread_stack_size:
      return default_stack_bytes;
    default:
      return 0;
  }
}

/// Under the lock, after a control came or went.
void settle(std::size_t parameter) {
  parameter_state& p = state_of(parameter);
  if (!p.live.empty()) {
    std::size_t best = control_access::value(*p.live.front());
    for (const global_control* c : p.live) {
      const std::size_t v = control_access::value(*c);
      best = smaller_wins(parameter) ? std::min(best, v) : std::max(best, v);
    }
    p.active.store(smaller_wins(parameter) ? std::min(best, parallelism_max) : best, sync::relaxed);
  }
  p.is_set.store(!p.live.empty(), sync::release);
}

std::size_t active_value(std::size_t parameter) {
  const parameter_state& p = state_of(parameter);
  return p.is_set.load(sync::acquire) ? p.active.load(sync::relaxed) : default_of(parameter);
}

}  // namespace

std::size_t control_active_value(std::size_t parameter) { return active_value(parameter); }

void list_control(global_control& c) {
  const std::lock_guard hold(controls_lock);
  state_of(control_access::parameter(c)).live.push_back(&c);
  settle(control_access::parameter(c));
}

void unlist_control(global_control& c) {
  const std::lock_guard hold(controls_lock);
  std::erase(state_of(control_access::parameter(c)).live, &c);
  settle(control_access::parameter(c));
}

void set_default_parallelism(unsigned threads) noexcept { usable_now.store(threads, sync::relaxed); }

std::size_t live_controls(std::size_t parameter) {
  const std::lock_guard hold(controls_lock);
  return state_of(parameter).live.size();
}

bool terminate_on_exception() noexcept { return active_value(global_control::terminate_on_exception) != 0; }
std::size_t thread_stack_size() noexcept {
  return std::max(active_value(global_control::thread_stack_size), stack_bytes_min);
}
bool fast_leave_everywhere() noexcept { return active_value(global_control::leave_policy) != 0; }
std::size_t max_allowed_parallelism() noexcept { return active_value(global_control::max_allowed_parallelism); }

void lock_controls_for_fork() noexcept { controls_lock.lock(); }
void unlock_controls_after_fork() noexcept { controls_lock.unlock(); }

}  // namespace homing::scheduler
