#include "runtime/stack/coroutine.hpp"

#include <memory>

#include "runtime/stack/suspend_point.hpp"
#include "sync/spin_lock.hpp"

namespace homing::scheduler {
namespace {

constexpr unsigned cached_max = 64;

sync::spin_lock cache_lock;
sync::linked_list<coroutine> cache;
unsigned cached = 0;

}  // namespace

coroutine& coroutine::acquire(std::size_t stack_bytes, void (*entry)(void*)) {
  {
    const sync::scoped_spin_lock hold(cache_lock);
    for (coroutine* c = cache.first(); c != nullptr; c = c->next) {
      if (c->memory.size() >= stack_bytes) {
        cache.remove(*c);
        --cached;
        return *c;
      }
    }
  }
  auto fresh = std::make_unique<coroutine>();
  fresh->memory = platform::stack_memory(stack_bytes);
  coroutine& c = *fresh.release();
  const auto lowest = reinterpret_cast<std::uintptr_t>(c.memory.base());
  c.disp.deep = {lowest, lowest + c.memory.size() / 2};
  point_of(c.disp, &c).stack.prepare(c.memory, entry, &c);
  return c;
}

void coroutine::give_back(coroutine& c) noexcept {
  {
    const sync::scoped_spin_lock hold(cache_lock);
    if (cached < cached_max) {
      cache.push_front(c);
      ++cached;
      return;
    }
  }
  drop_suspend_point(c.disp);
  delete &c;
}

void coroutine::lock_cache_for_fork() noexcept { cache_lock.lock(); }
void coroutine::unlock_cache_after_fork() noexcept { cache_lock.unlock(); }

}  // namespace homing::scheduler
