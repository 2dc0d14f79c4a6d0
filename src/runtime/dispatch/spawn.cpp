/// Making tasks ready: into the own deque, a mailbox besides, or a domain's queue.
#include <new>

#include "runtime/dispatch/dispatch.hpp"
#include "runtime/search/own_tasks.hpp"

namespace homing::scheduler {

namespace {

void note(const thread_state& t, task& work, task_group_context& ctx, affinity noted) noexcept {
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, t.running->isolation);
  task_access::set_address(work, {t.slot_number, noted, t.domain});
}

/// Whatever it takes: a context that another thread has made, a deque that is full.
[[gnu::cold, gnu::noinline]] void spawn_with_care(thread_state& t, task& work, task_group_context& ctx,
                                                  affinity noted) {
  bind_context(t, ctx);
  note(t, work, ctx, noted);
  const isolation_tag isolation = t.running->isolation;
  keep(t, work, make_tag(isolation, no_affinity));
  t.in->new_work(isolation, t.domain, *t.slot);
}

/// No call comes back here, so that nothing need be kept over one.
inline void spawn_here(thread_state& t, task& work, task_group_context& ctx, affinity noted) {
  if (__builtin_expect(!bind_own_context(t, ctx), false)) {
    spawn_with_care(t, work, ctx, noted);
    return;
  }
  note(t, work, ctx, noted);
  const isolation_tag isolation = t.running->isolation;
  if (__builtin_expect(!t.slot->tasks.try_push_at_once(as_item(work), make_tag(isolation, no_affinity)), false)) {
    spawn_with_care(t, work, ctx, noted);
    return;
  }
  t.in->new_work(isolation, t.domain, *t.slot);
}

/// Puts the task into a mailbox and the own deque. False if there is no room or nobody could come for it: an affinity
/// is a hint, and so want of memory is no error here.
bool mail(thread_state& t, task& work, affinity address, std::uint64_t tag) noexcept {
  if (!has_room(t)) {  // so that nothing can fail once the mail is posted
    return false;
  }
  task_proxy* proxy = nullptr;
  try {
    proxy = new (t.pool->allocate(sizeof(task_proxy))) task_proxy(work, *t.pool);
    if (t.in->post(address, as_item(*proxy), tag)) {
      return t.slot->tasks.try_push(as_item(*proxy), tag);  // never false
    }
  } catch (const std::bad_alloc&) {
  }
  if (proxy != nullptr) proxy->free(*t.pool);
  return false;
}

}  // namespace

[[gnu::flatten]] void spawn(thread_state& t, task& work, task_group_context& ctx) {
  spawn_here(t, work, ctx, no_affinity);
}

void spawn(thread_state& t, task& work, task_group_context& ctx, affinity wished) {
  const arena& a = *t.in;
  if (wished == no_affinity || !a.is_address(wished)) {
    // affinity_partitioner asks with none for what it has not seen yet: run anywhere, and note where (any_affinity
    // differs from every slot, so that the task's body records the one it ran in).
    spawn_here(t, work, ctx, wished == no_affinity ? any_affinity : wished);
    return;
  }
  spawn(t, work, ctx, wished, a.home_of(wished));
}

void spawn(thread_state& t, task& work, task_group_context& ctx, affinity wished, domain_index home) {
  arena& a = *t.in;
  bind_context(t, ctx);
  const isolation_tag isolation = t.running->isolation;
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, isolation);
  task_access::set_address(work, {t.slot_number, wished, home});

  // A slot's mail waits for its thread also while that is away: a worker comes back to the slot that it had.
  const bool to_slot = names_slot(wished);
  const bool mail_to_slot = to_slot && slot_of(wished) != t.slot_number;
  const bool mail_to_domain = !to_slot && home != t.domain;
  if (mail_to_slot || mail_to_domain) {
    if (mail(t, work, wished, make_tag(isolation, wished))) {
      a.new_mail(work_kind::mailed, isolation, home);
      return;
    }
  }
  const bool keep_home = a.domain_count() > 1 && home == t.domain;
  keep(t, work, make_tag(isolation, keep_home ? affinity_to(home) : no_affinity));
  a.new_work(isolation, home, *t.slot);
}

void detach(thread_state& t, task& work, task_group_context& ctx, domain_index domain) {
  if (t.running->isolation != no_isolation) {
    spawn(t, work, ctx, affinity_to(domain));
    return;
  }
  bind_context(t, ctx);
  task_access::set_context(work, &ctx);
  task_access::set_isolation(work, no_isolation);
  task_access::set_address(work, {no_slot, no_affinity, domain});
  t.in->detach(work, domain);
}

}  // namespace homing::scheduler
