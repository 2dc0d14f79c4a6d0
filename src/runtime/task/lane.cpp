#include "runtime/task/lane.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace homing::scheduler {
namespace {

sync::atomic<lane*> all_lanes{nullptr};

}  // namespace

lane::lane(thread_state& owner, sync::atomic<unsigned>& unjoined, const detail::fork_calls& what_to_call)
    : owner_(owner),
      open_limit_(initial_capacity - 1),
      array_(std::make_unique<fork_branch*[]>(initial_capacity)),
      unjoined_(unjoined) {
  slots = array_.get();
  calls = &what_to_call;
}

bool lane::make_room() noexcept {
  const std::size_t capacity = open_limit_ + 1;
  std::unique_ptr<fork_branch*[]> larger(new (std::nothrow) fork_branch*[capacity * 2]);
  if (larger == nullptr) {
    return false;
  }
  const sync::scoped_spin_lock hold(lock_);  // thieves look at the array under it only
  std::copy(slots, slots + bottom.load(sync::relaxed), larger.get());
  array_ = std::move(larger);
  slots = array_.get();
  open_limit_ = capacity * 2 - 1;
  return true;
}

void publish(lane& fresh) noexcept {
  lane* newest = all_lanes.load(sync::relaxed);
  do {
    fresh.next_lane = newest;
    // release: a whole lane, to the acquire of ask_all_lanes().
  } while (!all_lanes.compare_exchange_weak(newest, &fresh, sync::release, sync::relaxed));
}

void ask_all_lanes() noexcept {
  sync::full_fence();  // [F5] what the caller has marked, before the look at each limit; partner take_ask()
  for (lane* l = all_lanes.load(sync::acquire); l != nullptr; l = l->next_lane) {
    l->ask();
  }
}

}  // namespace homing::scheduler
