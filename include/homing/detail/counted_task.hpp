/// Tasks that somebody may wait for: counted in a wait context from before they are made until after they are gone.
///
/// Ownership: a task is its maker's until hand_over() has given it to the scheduler; then it ends itself.
/// Threads:   any. Errors: std::bad_alloc, and what the task's constructor throws; nothing is counted then.
#pragma once

#include <oneapi/tbb/detail/_small_object_pool.h>
#include <oneapi/tbb/detail/_task.h>

#include <utility>

namespace homing::detail {

namespace d1 = tbb::detail::d1;

/// What a task gives back at its end: its memory, then its place in a wait context, if it has one.
struct task_dues {
  const d1::small_object_allocator& allocator;  ///< knows its pool from the allocation on, so not to be copied before
  d1::wait_context* wait;
};

/// Base of a task that does `run(execution_data&)` of `Derived`, or nothing if it is cancelled, and ends.
template <class Derived>
class counted_task : public d1::task {
 public:
  d1::task* execute(d1::execution_data& ed) final {
    self().run(ed);
    end(ed);
    return nullptr;
  }
  // Also after an exception in run().
  d1::task* cancel(d1::execution_data& ed) final {
    end(ed);
    return nullptr;
  }
  /// Ends a task that the scheduler has never had.
  void discard() { end(); }

 protected:
  explicit counted_task(const task_dues& dues) : allocator_(dues.allocator), wait_(dues.wait) {}

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
  // The task is destroyed, and its memory returned, before whoever waits is told.
  template <class... Data>
  void end(const Data&... ed) {
    d1::small_object_allocator allocator = allocator_;
    d1::wait_context* const wait = wait_;
    allocator.delete_object(&self(), ed...);
    if (wait != nullptr) wait->release();
  }

  d1::small_object_allocator allocator_;
  d1::wait_context* wait_;
};

/// A new `Task(dues, arguments...)`, counted in `wait` if that is not null.
template <class Task, class... Arguments>
[[nodiscard]] Task& make_counted(d1::wait_context* wait, Arguments&&... arguments) {
  struct reservation {
    d1::wait_context* wait;
    ~reservation() {
      if (wait != nullptr) wait->release();
    }
  } one{wait};
  if (wait != nullptr) wait->reserve();
  d1::small_object_allocator allocator{};
  Task& t = *allocator.new_object<Task>(task_dues{allocator, wait}, std::forward<Arguments>(arguments)...);
  one.wait = nullptr;
  return t;
}

/// Gives `t` to the scheduler by `send(t)`. If that throws, nobody has got it: it ends, so that nobody waits for it.
template <class Task, class Send>
void hand_over(Task& t, Send&& send) {
  try {
    std::forward<Send>(send)(t);
  } catch (...) {
    t.discard();
    throw;
  }
}

}  // namespace homing::detail
