/// Exported: global_control and task_scheduler_handle.
#include <oneapi/tbb/global_control.h>

#include <cstdlib>
#include <stdexcept>

#include "runtime/process/lifetime.hpp"
#include "runtime/process/process_controls.hpp"
#include "runtime/settings/control_access.hpp"

namespace tbb::detail::r1 {

namespace {

std::size_t checked_parameter(int parameter) {
  if (parameter < 0 || parameter >= d1::global_control::parameter_max) {
    assertion_failure(__func__, __LINE__, "param < d1::global_control::parameter_max", nullptr);
    std::abort();  // a handler that returns
  }
  return static_cast<std::size_t>(parameter);
}

}  // namespace

void create(d1::global_control& control) {
  static_cast<void>(checked_parameter(static_cast<int>(global_control_impl::parameter(control))));
  homing::scheduler::control_create(control);
}

void destroy(d1::global_control& control) { homing::scheduler::control_destroy(control); }

std::size_t global_control_active_value(int parameter) {
  return homing::scheduler::control_active_value(checked_parameter(parameter));
}

void get(d1::task_scheduler_handle& handle) {
  handle.m_ctl = new d1::global_control(d1::global_control::scheduler_handle, 1);
}

void release_impl(d1::task_scheduler_handle& handle) {
  delete handle.m_ctl;
  handle.m_ctl = nullptr;
}

bool finalize_impl(d1::task_scheduler_handle& handle) {
  // Before the handle is given up: of several threads at once the last one finds nobody in its way.
  const bool has_left = homing::scheduler::leave_to_finalize();
  release_impl(handle);
  // Another handle says that the runtime is still needed.
  return homing::scheduler::nothing_to_finalize() ||
         (has_left && homing::scheduler::live_controls(d1::global_control::scheduler_handle) == 0 &&
          homing::scheduler::finalize_all());
}

bool finalize(d1::task_scheduler_handle& handle, std::intptr_t mode) {
  if (mode == d1::release_nothrowing) {
    release_impl(handle);
    return true;
  }
  const bool ended = finalize_impl(handle);
  if (!ended && mode == d1::finalize_throwing) {
    throw_exception(exception_id::unsafe_wait);
  }
  return ended;
}

}  // namespace tbb::detail::r1
