#include "runtime/search/search.hpp"

#include "runtime/task/context.hpp"

namespace homing::scheduler {

void begin_looking(thread_state& t, std::int64_t now_ns) noexcept {
  arena& a = *t.in;
  if (t.looks_since_ns == 0) {
    t.looks_since_ns = now_ns;
  }
  if (const auto victim = t.backoff.victim_to_judge()) {
    std::optional<std::int64_t> dry_ns;
    std::uint64_t owners_state = steal_backoff::not_known;
    if (to_index(*victim) < a.slot_count()) {  // else it was in another arena: a hint is lost
      const arena_slot& slot = a.slot(*victim);
      dry_ns = slot.search_began_ns.load(sync::relaxed);
      owners_state = t.backoff.knows_owners_state() ? slot.tasks.owners_state() : owners_state;
    }
    t.backoff.judge(now_ns, dry_ns, owners_state,
                    !a.searching.several(t.domain) ? thief_is::alone
                    : a.shares_cpus()              ? thief_is::without_own_cpu
                                                   : thief_is::one_of_several);
  }
  if (a.settings().has_l3_groups) {
    t.l3_group = l3_group_of_this_thread(a.settings(), t.domain);
    t.slot->l3_group.store(t.l3_group, sync::relaxed);
  }
}

void tell_observers(thread_state& t, const task& found) noexcept {
  if (!task_access::is_resume(found)) {
    context_access::run_into(*task_access::context(found), [&] { notify_entry(t); });
  }
}

}  // namespace homing::scheduler
