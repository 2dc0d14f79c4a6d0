#include "runtime/process/process_controls.hpp"

#include "runtime/settings/control_access.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

using tbb::detail::d1::global_control;

bool limits_workers(const global_control& c) noexcept {
  return control_access::parameter(c) == global_control::max_allowed_parallelism;
}

void obey() noexcept {
  // A child of fork() that had no memory for its manager has no limit to obey either.
  if (resource_manager* const manager = resource_manager::current_or_null())
    manager->obey_limit(resource_manager::machine_is::the_same);
}

}  // namespace

void control_create(global_control& c) {
  // What may throw comes first: a control whose constructor failed must not be listed.
  if (limits_workers(c)) {
    static_cast<void>(resource_manager::current());
  }
  list_control(c);
  if (limits_workers(c)) {
    obey();
  }
}

void control_destroy(global_control& c) {
  const bool limited = limits_workers(c);
  unlist_control(c);
  if (limited) {
    obey();
  }
}

}  // namespace homing::scheduler
