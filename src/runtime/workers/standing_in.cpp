/// Workers that stand in: where all workers of a domain stay in other arenas, its share is taken by one of another
/// domain, or by one that has yet to be made.
///
/// Threads:   any.
/// Protocol:  docs/protocols/arena.md [A26].
#include <algorithm>
#include <utility>

#include "runtime/arena/arena.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

/// Long against a worker's way from one arena to the next, also where it waits for a CPU meanwhile: whoever is on its
/// way comes to its home first.
constexpr std::int64_t stand_in_after_ns = 5'000'000;

}  // namespace

/// Under the lock. The nearest domain of whose workers one is missing there, with work that it could take.
std::optional<domain_index> resource_manager::unfilled_domain(arena& a, domain_index near) noexcept {
  if (!a.has_unfilled_share() || is_share_void(a) || a.account().is_without_reference()) {
    return {};  // the last one: whoever retires it calls for what is left
  }
  const auto nearest = machine_.nearest_first(near);
  const auto found = std::find_if(nearest.begin(), nearest.end(), [&](domain_index d) {
    const arena_domain& there = a.domain(d);
    return there.active.load(sync::relaxed) < there.allotted.load(sync::relaxed) && a.has_work(no_isolation, d);
  });
  return found != nearest.end() && a.worker_could_enter() ? std::optional(*found) : std::nullopt;
}

/// True if the caller is the one now.
bool resource_manager::begin_stand_by() noexcept {
  // An exchange, also where another stands by: what made this caller call is before that one's end_stand_by(), and so
  // before its look. relaxed: each has a fence, or the manager's lock, between that and the exchange.
  return !has_stand_by_.exchange(true, sync::relaxed);
}

/// By an exchange, and a fence or the manager's lock behind it: whatever made others rely on this one.
void resource_manager::end_stand_by() noexcept { has_stand_by_.exchange(false, sync::relaxed); }

/// For work that needs a worker of a domain where none is to be had. With one domain there is none elsewhere, either.
void resource_manager::call_stand_in(domain_index near) noexcept {
  while (domain_count_ > 1 && available() > 0 && begin_stand_by()) {
    if (const fetched f = fetch_stand_in(near); f.who != nullptr) {
      f.who->stands_by = true;
      wake(*f.who, f.slept);
      return;
    }
    end_stand_by();
    // Who found us standing by called nobody; partner: a worker's announcement, then its last look.
    sync::light_fence();
    if (idle_.load(sync::relaxed) <= 0) {
      return;
    }
  }
}

/// One that idles, or a new one.
resource_manager::fetched resource_manager::fetch_stand_in(domain_index near) noexcept {
  for (const domain_index d : machine_.nearest_first(near)) {
    if (worker* const w = pop_idle(d)) {
      return {w, true, false};
    }
  }
  return {make_in_one_of(machine_.nearest_first(near)), false, false};
}

/// A worker that stood by goes elsewhere: others may have relied on it.
void resource_manager::hand_on_stand_by(domain_index near) noexcept {
  end_stand_by();
  bool needs_one = false;
  {
    const holder hold(*this);
    needs_one =
        std::any_of(served_.begin(), served_.end(), [&](arena* a) { return unfilled_domain(*a, near).has_value(); });
  }
  if (needs_one) {
    call_stand_in(near);
  }
}

/// For one on the list that stands by. Afterwards it is on no list; null: it looks anew.
arena* resource_manager::stand_in_unless_called(worker& w, domain_index here) noexcept {
  if (w.parker.park_for(stand_in_after_ns)) {
    return nullptr;
  }
  if (arena* const a = choose_assignment(w, nullptr, here)) {
    return a;
  }
  if (w.ends) {
    return nullptr;  // [A28]
  }
  const holder hold(*this);
  for (arena* a : served_) {
    const std::optional<domain_index> to = unfilled_domain(*a, w.domain);
    if (to && reserve(*a, *to)) {
      a->search().transfer_to(*to, {});
      state_of(w.domain).made.fetch_sub(1, sync::relaxed);
      state_of(*to).made.fetch_add(1, sync::relaxed);
      w.domain = *to;  // it binds itself before it enters, as one that was brought [A17]
      return a;
    }
  }
  return nullptr;
}

}  // namespace homing::scheduler
