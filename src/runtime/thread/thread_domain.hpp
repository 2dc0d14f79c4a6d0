/// In which domain, and which group of CPUs that share an L3, the calling thread is.
///
/// Threads: each call is about its caller.
#pragma once

#include <cstdint>

#include "runtime/settings/scheduler_settings.hpp"
#include "runtime/task/indices.hpp"

namespace homing::scheduler {

/// The domain of the CPU that the calling thread is on.
[[nodiscard]] domain_index domain_of_this_thread(const scheduler_settings& settings) noexcept;

/// The same without a record for the thread, which takes memory to make.
[[nodiscard]] domain_index present_domain(const scheduler_settings& settings) noexcept;

/// Within `domain`.
[[nodiscard]] std::uint16_t l3_group_of_this_thread(const scheduler_settings& settings, domain_index domain) noexcept;

}  // namespace homing::scheduler
