/// The end of workers that nobody has a use for any more. [A28]
#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "platform/check.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

/// How long nobody may have used the library before its workers end: threads that come and go find them there.
constexpr timespec unused_for{0, 100'000'000};

void rest() noexcept {
  timespec left = unused_for;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

void resource_manager::last_user_left() noexcept {
  if (made_.load(sync::relaxed) == 0 || this != current_or_null()) {
    return;  // no worker; or of before a fork, and they are the parent's
  }
  if (!users_.claim_end()) {
    return;  // it looks at the users once more after it has said that it is none
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t ender{};
  if (pthread_create(&ender, &attributes, &ender_entry, this) != 0) {
    static_cast<void>(users_.drop_end());  // then they sleep on, which costs nothing but their memory
  }
  pthread_attr_destroy(&attributes);
}

void* resource_manager::ender_entry(void* manager) {
  static_cast<resource_manager*>(manager)->end_unused_workers();
  return nullptr;
}

void resource_manager::end_unused_workers() noexcept {
  do {
    const std::uint64_t before = users_.seen();
    rest();
    if (users_.seen() == before && users_.none() && wait_until_unused()) {
      end_idle_workers(before);
    }
    // Whoever came has left it to the last of them to make another ender, unless that one found this one here.
  } while (users_.drop_end() && made_.load(sync::relaxed) != 0 && users_.claim_end());
}

/// Under the lock: takes those that idle off their lists, as long as nobody has come or left since `seen` was read, and
/// frees their places. They sleep still, and are linked by `next_made`.
worker* resource_manager::take_idle_workers(std::uint64_t seen) noexcept {
  for (const domain_index d : all_domains()) {
    domain_state& here = state_of(d);
    for (worker* w = nullptr; users_.seen() == seen && (w = pop_idle(d)) != nullptr;) {
      platform::require(w->assigned == nullptr && here.made.load(sync::relaxed) > 0,
                        "A28: a worker that is ended idles, and is counted");
      w->ends = true;
      here.made.fetch_sub(1, sync::relaxed);
      made_.fetch_sub(1, sync::relaxed);
    }
  }
  worker* taken = nullptr;
  for (worker** link = &first_worker_; *link != nullptr;) {
    worker& w = **link;
    if (w.ends) {
      *link = std::exchange(w.next_made, taken);
      taken = &w;
    } else {
      link = &w.next_made;
    }
  }
  return taken;
}

/// Those that have a task, or are on their way, are left alone: nobody knows when they end, and whoever comes meanwhile
/// must have workers.
void resource_manager::end_idle_workers(std::uint64_t seen) noexcept {
  const std::lock_guard one_at_a_time(stop_lock_);  // finalize waits for their end, too
  worker* ending = nullptr;
  arena_list waiting;
  {
    const holder hold(*this);
    ending = take_idle_workers(seen);
    if (ending == nullptr) {
      return;
    }
    ends_some_ = true;
    waiting = see_who_called();
  }
  for (worker* w = ending; w != nullptr; w = w->next_made) {
    w->parker.unpark();
  }
  call_for(waiting);
  for (const worker* w = ending; w != nullptr; w = w->next_made) {
    pthread_join(w->thread, nullptr);
  }
  {
    const holder hold(*this);
    while (ending != nullptr) {
      worker* const next = ending->next_made;
      std::destroy_at(ending);
      std::construct_at(ending)->next_made = std::exchange(spare_workers_, ending);
      ending = next;
    }
    ends_some_ = false;
    if (first_worker_ == nullptr && makings_.load(sync::relaxed) == 0) {
      free_workers();
    }
  }
  memory_of_arenas_.free_all();
}

}  // namespace homing::scheduler
