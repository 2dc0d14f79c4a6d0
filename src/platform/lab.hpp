/// Whether this process runs in a virtual machine of the lab, and whose time its clocks tell there.
///
/// Threads: any. Errors: none.
/// Source:  docs/protocols/lab_clock.md.
#pragma once

#include <string>

namespace homing::platform {

/// The lab's name of the machine; empty if this is none of the lab's.
[[nodiscard]] std::string lab_machine();
/// True if the process's clocks tell the virtual time of the lab's model, as with `homing lab run --virtual-clock`.
[[nodiscard]] bool clock_is_virtual() noexcept;

}  // namespace homing::platform
