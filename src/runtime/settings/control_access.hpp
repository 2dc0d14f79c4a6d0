/// The friend that oneTBB's header names for global_control, and what the exported functions call.
#pragma once

#include <cstddef>

#include <oneapi/tbb/global_control.h>

namespace tbb::detail::r1 {

struct global_control_impl {
  static std::size_t value(const d1::global_control& c) noexcept { return c.my_value; }
  static std::size_t parameter(const d1::global_control& c) noexcept { return static_cast<std::size_t>(c.my_param); }
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {

using control_access = tbb::detail::r1::global_control_impl;

std::size_t control_active_value(std::size_t parameter);
/// Errors: std::bad_alloc; then it is not listed.
void list_control(tbb::detail::d1::global_control& c);
void unlist_control(tbb::detail::d1::global_control& c);
std::size_t live_controls(std::size_t parameter);

void lock_controls_for_fork() noexcept;
void unlock_controls_after_fork() noexcept;

}  // namespace homing::scheduler
