#include "runtime/control.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "runtime/control_access.hpp"
#include "runtime/resource_manager.hpp"
#include "topology/machine.hpp"

namespace homing::scheduler {
namespace {

using tbb::detail::d1::global_control;

constexpr std::size_t parameter_count = global_control::parameter_max;
constexpr std::size_t default_stack_bytes = std::size_t{4} << 20U;

struct parameter_state {
  std::vector<global_control*> live;
  sync::atomic<std::size_t> active{0};  ///< meaningful while `live` is not empty
  sync::atomic<bool> is_set{false};
};

std::mutex controls_lock;
std::array<parameter_state, parameter_count> parameters;

bool smaller_wins(std::size_t parameter) noexcept { return parameter == global_control::max_allowed_parallelism; }

std::size_t default_of(std::size_t parameter) {
  switch (parameter) {
    case global_control::max_allowed_parallelism:
      if (const resource_manager* manager = resource_manager::current_or_null()) {
        return manager->default_concurrency();  // the machine may have changed [A19]
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
  parameter_state& p = parameters[parameter];
  if (!p.live.empty()) {
    std::size_t best = control_access::value(*p.live.front());
    for (const global_control* c : p.live) {
      const std::size_t v = control_access::value(*c);
      best = smaller_wins(parameter) ? std::min(best, v) : std::max(best, v);
    }
    p.active.store(best, sync::relaxed);
  }
  p.is_set.store(!p.live.empty(), sync::release);
}

std::size_t active_value(std::size_t parameter) {
  const parameter_state& p = parameters[parameter];
  return p.is_set.load(sync::acquire) ? p.active.load(sync::relaxed) : default_of(parameter);
}

void apply(std::size_t parameter) noexcept {
  if (parameter == global_control::max_allowed_parallelism) {
    // A child of fork() that had no memory for its manager has no limit to obey either.
    if (resource_manager* const manager = resource_manager::current_or_null()) manager->obey_limit();
  }
}

}  // namespace

std::size_t control_active_value(std::size_t parameter) { return active_value(parameter); }

void control_create(global_control& c) {
  const std::size_t parameter = control_access::parameter(c);
  // What may throw comes first: a control whose constructor failed must not be listed.
  if (parameter == global_control::max_allowed_parallelism) {
    static_cast<void>(resource_manager::current());
  }
  {
    const std::lock_guard hold(controls_lock);
    parameters[parameter].live.push_back(&c);
    settle(parameter);
  }
  apply(parameter);
}

void control_destroy(global_control& c) {
  const std::size_t parameter = control_access::parameter(c);
  {
    const std::lock_guard hold(controls_lock);
    std::erase(parameters[parameter].live, &c);
    settle(parameter);
  }
  apply(parameter);
}

std::size_t live_controls(std::size_t parameter) {
  const std::lock_guard hold(controls_lock);
  return parameters[parameter].live.size();
}

bool terminate_on_exception() noexcept { return active_value(global_control::terminate_on_exception) != 0; }
std::size_t thread_stack_size() noexcept { return active_value(global_control::thread_stack_size); }
bool fast_leave_everywhere() noexcept { return active_value(global_control::leave_policy) != 0; }
std::size_t max_allowed_parallelism() noexcept { return active_value(global_control::max_allowed_parallelism); }

void lock_controls_for_fork() noexcept { controls_lock.lock(); }
void unlock_controls_after_fork() noexcept { controls_lock.unlock(); }

}  // namespace homing::scheduler
