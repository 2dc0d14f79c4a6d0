#include "tbb/live_arena.hpp"

#include "runtime/arena/arena_access.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

/// In the child of a fork: an arena of before it, unless the calling thread is in it.
bool is_left_behind(const arena& a) noexcept {
  if (__builtin_expect(&a.supplier() == resource_manager::current_or_null(), true)) {
    return false;
  }
  const thread_state* t = this_thread_or_null;
  return t == nullptr || slot_held_in(*t, a) == no_slot;
}

[[gnu::noinline]] arena& successor_of(arena& old) {
  worker_account& account = old.account();
  arena* known = account.successor.load(sync::acquire);
  if (known != nullptr) {
    return *known;
  }
  arena& fresh = arena::make(resource_manager::current(), old.request());
  fresh.add_user();  // the old arena itself, until no object stands for it
  // Publishes the new arena, or acquires the one that another thread made.
  if (account.successor.compare_exchange_strong(known, &fresh, sync::release, sync::acquire)) {
    return fresh;
  }
  fresh.drop_user();
  return *known;
}

/// Behind several forks: a successor may be left behind itself.
[[gnu::noinline]] arena& last_successor_of(arena& old) {
  arena* a = &old;
  while (is_left_behind(*a)) {
    a = &successor_of(*a);
  }
  return *a;
}

}  // namespace

arena& live_arena(arena& a) { return __builtin_expect(is_left_behind(a), false) ? last_successor_of(a) : a; }

arena* live_arena_of(tbb::detail::d1::task_arena_base& user) {
  arena* a = arena_access::arena_of(user);
  return a != nullptr && __builtin_expect(is_left_behind(*a), false) ? &last_successor_of(*a) : a;
}

arena* known_arena_of(const tbb::detail::d1::task_arena_base& user) noexcept {
  arena* a = arena_access::arena_of(user);
  while (a != nullptr && is_left_behind(*a)) {
    a = a->account().successor.load(sync::acquire);
  }
  return a;
}

void drop_user_of(arena& a) noexcept {
  if (!is_left_behind(a)) {
    a.drop_user();
    return;
  }
  worker_account& account = a.account();
  // relaxed: a thread's own, or of before the fork.
  const int threads = account.is_implicit.load(sync::relaxed) ? 1 : 0;
  // acq_rel: whoever is last sees the successor that others have made.
  if (account.users.fetch_sub(1, sync::acq_rel) - 1 > threads) {
    return;  // [A29] another may use the successor through it
  }
  if (arena* const successor = account.successor.exchange(nullptr, sync::relaxed)) {
    drop_user_of(*successor);
  }
}

}  // namespace homing::scheduler
