/// Mail for a thread that looks for work: its slot's, its domain's, and what siblings have not fetched.
///
/// Threads:  the calling thread, in its arena's slot.
/// Protocol: docs/protocols/mailbox.md.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/search/search_round.hpp"

namespace homing::scheduler {

/// Whether there may be mail for the thread's slot or domain: two lines that hardly change.
[[nodiscard]] inline bool has_mail(const thread_state& t, isolation_tag isolation) noexcept {
  const auto has = [&](const sync::mailbox_place& place) {
    const sync::mailbox* const box = place.get();
    return box != nullptr && box->has([&](std::uint64_t tag) { return tag_fits(tag, isolation); });
  };
  return has(t.slot->mail) || has(t.in->domain(t.domain).mail);
}

/// Rule 4' of TBB-NUMA's figure 7: the own slot's mail, the domain's, then what siblings there have not fetched.
[[nodiscard]] task* take_mail(thread_state& t, const search_round& how);

}  // namespace homing::scheduler
