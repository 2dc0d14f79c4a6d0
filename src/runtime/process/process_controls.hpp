/// A global_control comes or goes: listed (control.hpp), and obeyed by whom it concerns.
///
/// Threads: any.
#pragma once

#include <oneapi/tbb/global_control.h>

namespace homing::scheduler {

/// Errors: std::bad_alloc; the control is not in force then.
void control_create(tbb::detail::d1::global_control& c);
void control_destroy(tbb::detail::d1::global_control& c);

}  // namespace homing::scheduler
