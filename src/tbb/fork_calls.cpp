/// Exported by the door: forks and joins that the header can't do alone.
#include "tbb/fork_calls.hpp"

#include <memory>

#include "platform/check.hpp"
#include "runtime/arena/arena_access.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/dispatch/forks.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "runtime/task/fork_task.hpp"

namespace homing::scheduler {
namespace {

using homing::detail::fork_lane;

bool pushed(fork_lane& where) noexcept {
  auto& forks = static_cast<lane&>(where);
  try {
    return answer(arena_thread(), forks);
  } catch (...) {  // no memory for an arena: the thread goes on alone, and tries again at its next fork
    make_room_or_keep(forks);
    return true;
  }
}

bool join_slowly(fork_lane& where, std::size_t at, fork_branch& b) noexcept {
  // relaxed: null by this thread's own hand, also on another thread before the stack moved, or by a thief, for whom
  // forget_given() waits; or else F3 tells.
  if (b.run.load(sync::relaxed) != nullptr && static_cast<lane&>(where).has_back(at)) {
    return true;
  }
  thread_state& t = this_thread();
  if (t.forks != nullptr) {
    t.forks->forget_given();  // under the lock, which a thief has until it has counted the branch [F4]
  }
  platform::require_hot([&] { return t.unjoined_forks.load(sync::relaxed) != 0; },
                        "F8: a branch that is joined here has left its lane");
  t.unjoined_forks.fetch_sub(1, sync::relaxed);
  // [F8] A branch that was kept is waited for by nobody, and its thread may have no arena: there was no memory for one.
  if (arena_access::is_waited_for(wait_of(b))) {
    run_until_empty(t, nullptr, wait_of(b));
  }
  return b.end == fork_branch::fate::kept;
}

void give_to_domain(fork_branch& b, std::uint32_t domain) noexcept {
  this_thread().unjoined_forks.fetch_add(1, sync::relaxed);
  try {
    thread_state& t = arena_thread();
    task* const work = make_task_of(t, b);
    if (work != nullptr) {
      const affinity address = domain < t.in->domain_count() ? affinity_to(domain_index{domain}) : no_affinity;
      spawn(t, *work, *t.running->ed.context, address);
    }
  } catch (...) {
    keep_branch(b);
  }
}

bool is_cancelled() noexcept {
  const thread_state& t = this_thread();
  return t.in != nullptr && group_is_cancelled(t);
}

constexpr detail::fork_calls calls{
    .pushed = &pushed, .join = &join_slowly, .give = &give_to_domain, .is_cancelled = &is_cancelled};

}  // namespace

lane& lane_of_this_thread() {
  thread_state& t = arena_thread();
  if (t.forks == nullptr) {
    auto fresh = std::make_unique<lane>(t, t.unjoined_forks, calls);
    publish(*fresh);
    t.forks = fresh.release();
    t.in->set_lane(*t.slot, t.forks);
  }
  return *t.forks;
}

}  // namespace homing::scheduler
