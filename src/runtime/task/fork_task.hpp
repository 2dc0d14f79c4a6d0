/// A branch of a fork as a task, once it has been given away: runs it, and tells whoever joins it.
///
/// Ownership: made by whoever gives or takes the branch, from a pool of its own; ends itself. The branch is its
///            owner's, who waits for it.
/// Threads:   any; execute() or cancel() once.
/// Protocol:  docs/protocols/fork_lane.md [F8].
#pragma once

#include <new>

#include <homing/detail/fork_lane.hpp>

#include "memory/small_object_pool.hpp"
#include "runtime/task/task_access.hpp"

namespace homing::scheduler {

using wait_context = tbb::detail::d1::wait_context;

[[nodiscard]] inline wait_context& wait_of(detail::fork_branch& b) noexcept {
  static_assert(sizeof b.wait >= sizeof(wait_context) && alignof(wait_context) <= 8);
  return *std::launder(reinterpret_cast<wait_context*>(b.wait));
}

/// Nobody is to wait for the branch: it is its owner's again, who made `end` say so.
inline void keep_branch(detail::fork_branch& b) noexcept {
  b.end = detail::fork_branch::fate::kept;
  new (b.wait) wait_context(0);
  // relaxed, as below: read by the owner itself, or by whoever has its lane's lock behind it.
  b.run.store(nullptr, sync::relaxed);
}

class fork_task final : public task {
 public:
  /// The branch is given from now on.
  fork_task(detail::fork_branch& b, memory::object_pool& pool) noexcept
      : branch_(b), run_(b.run.load(sync::relaxed)), pool_(pool) {
    b.end = detail::fork_branch::fate::given;
    std::atomic_ref<std::uint32_t>(b.unwanted).store(0, sync::relaxed);  // a thief's, perhaps, as its owner sets it
    new (b.wait) wait_context(1);
    b.run.store(nullptr, sync::relaxed);
  }

  task* execute(tbb::detail::d1::execution_data&) override {
    run_(branch_, false);
    end();
    return nullptr;
  }
  task* cancel(tbb::detail::d1::execution_data&) override {
    run_(branch_, true);
    end();
    return nullptr;
  }

 private:
  /// Another thread may run the stack now than the one that has begun.
  void end() noexcept;

  detail::fork_branch& branch_;
  detail::fork_branch::runner run_;
  memory::object_pool& pool_;
};

}  // namespace homing::scheduler
