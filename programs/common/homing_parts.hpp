// A computation by parts with Homing: a task for each domain's part, sent there.
#pragma once

#include <homing/tasks.hpp>

#include <cstdint>

#include "parts.hpp"

namespace programs {

/// f(p) for each part, at its home. Those of other domains are sent first, so that they have left when this thread
/// takes its own, the newest.
template <class F>
void send_parts(const F& f) {
  const std::uint32_t domains = homing::domain_count();  // one, on stock oneTBB
  homing::task_group group;
  const auto send = [&](std::uint32_t p) { group.run(homing::on(p % domains), [&f, p] { f(p); }); };
  const std::uint32_t here = homing::to_index(homing::current_domain());
  for (std::uint32_t p = 0; p < part_count(); ++p) {
    if (p % domains != here) send(p);
  }
  for (std::uint32_t p = here; p < part_count(); p += domains) send(p);
  group.wait();
}

}  // namespace programs
