/// Moving pages without any of NUMA's system calls: dropped, and touched again by a thread of their home.
///
/// The kernel gives a page that is touched for the first time memory near the thread that touches it. So a thread bound
/// to the home copies a unit aside, drops it and writes it back: contents are in two places or in one, never in none.
/// Between the two, the memory reads as zeros; nobody else may use it, and the caller vouches for that.
#pragma once

#include <homing/topology.hpp>

#include <cstddef>
#include <functional>
#include <vector>

#include "platform/page_calls.hpp"

namespace homing::memory {

/// The units that belong to one domain.
struct copy_order {
  domain_index home;
  std::vector<platform::address_range> units;
};

/// Runs the orders at the same time, one thread each. Calls `done(order, unit, errno)` for each unit, from those
/// threads; units that were not copied keep their contents and their place. Errors: the errno; EAGAIN if no thread was
/// to be had.
void copy_home(platform::page_calls& calls, const topology::snapshot& machine, const std::vector<copy_order>& orders,
               const std::function<void(std::size_t order, std::size_t unit, int error_number)>& done);

}  // namespace homing::memory
