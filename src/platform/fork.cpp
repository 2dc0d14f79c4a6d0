#include "platform/fork.hpp"

#include <pthread.h>

namespace homing::platform {
namespace {

/// Sorted by layer. Written while the library is loaded, by one thread.
constinit fork_part* highest = nullptr;

void release(fork_part* part, const fork_part::function fork_part::*what) noexcept {
  if (part == nullptr) {
    return;
  }
  release(part->next, what);
  (part->*what)();
}

}  // namespace

fork_part::fork_part(fork_layer l, function b, function p, function c) noexcept
    : layer(l), before(b), parent(p), child(c) {
  if (highest == nullptr) {
    // One registration: the order of several would be that in which the linker has put their files.
    static_cast<void>(::pthread_atfork(
        [] {
          for (const fork_part* part = highest; part != nullptr; part = part->next) {
            part->before();
          }
        },
        [] { release(highest, &fork_part::parent); }, [] { release(highest, &fork_part::child); }));
  }
  fork_part** link = &highest;
  while (*link != nullptr && (*link)->layer <= layer) {
    link = &(*link)->next;
  }
  next = *link;
  *link = this;
}

namespace {

std::mutex all_objects;
object_mutex* newest = nullptr;  // under all_objects

}  // namespace

const fork_part object_mutex::over_fork_(fork_layer::objects, lock_all, unlock_all, unlock_all);

void object_mutex::lock_all() {
  all_objects.lock();
  for (object_mutex* m = newest; m != nullptr; m = m->next_) m->lock();
}

void object_mutex::unlock_all() {
  for (object_mutex* m = newest; m != nullptr; m = m->next_) m->unlock();
  all_objects.unlock();
}

object_mutex::object_mutex() noexcept {
  const std::lock_guard hold(all_objects);
  next_ = newest;
  if (newest != nullptr) newest->previous_ = this;
  newest = this;
}

object_mutex::~object_mutex() {
  const std::lock_guard hold(all_objects);
  (previous_ != nullptr ? previous_->next_ : newest) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace homing::platform
