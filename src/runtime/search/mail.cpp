#include "runtime/search/mail.hpp"

#include "runtime/search/own_tasks.hpp"

namespace homing::scheduler {
namespace {

task* take_mail(thread_state& t, const sync::mailbox_place& place, const search_round& how) {
  const isolation_tag isolation = how.scope.isolation;
  sync::mailbox* const box = place.get();
  if (box == nullptr) {
    return nullptr;
  }
  for (;;) {
    const std::uintptr_t item =
        box->take([&](std::uint64_t tag) { return tag_fits(tag, isolation) && how.may_take(t); });
    if (item == 0) {
      return nullptr;
    }
    if (task* found = verified(t, unwrap(t, item), isolation)) {
      t.counters.add(observe::event::mailbox);
      return found;
    }
  }
}

}  // namespace

task* take_mail(thread_state& t, const search_round& how) {
  arena& a = *t.in;
  if (task* found = take_mail(t, t.slot->mail, how)) {
    return found;
  }
  arena_domain& home = a.domain(t.domain);
  if (task* found = take_mail(t, home.mail, how)) {
    return found;
  }
  for (arena_slot& sibling : a.slots_of(home)) {
    if (sibling.mail.is_made() && !sibling.searching.is_set()) {
      if (task* found = take_mail(t, sibling.mail, how)) {
        return found;
      }
    }
  }
  return nullptr;
}

}  // namespace homing::scheduler
