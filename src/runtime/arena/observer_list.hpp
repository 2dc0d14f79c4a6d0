/// The task_scheduler_observers of one arena, and who has been told.
///
/// Each activation gets the next number; a thread remembers the highest that it has notified, so that a look for news
/// is one load. Callbacks run outside the lock; the observer's busy count keeps it alive meanwhile.
///
/// Threads: any. observe(false) waits for callbacks in flight, but not for the one that it is called from.
/// Protocol: docs/protocols/observers.md [O1] to [O4].
/// Source:  oneTBB's documentation of task_scheduler_observer (order of activation for entry and for exit).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "sync/atomic.hpp"
#include "sync/spin_lock.hpp"

namespace tbb::detail {
namespace d1 {
class task_scheduler_observer;
}
namespace r1 {
class observer_proxy;
}
}  // namespace tbb::detail

namespace homing::scheduler {

class observer_list {
 public:
  using observer = tbb::detail::d1::task_scheduler_observer;
  using number = std::uint64_t;  ///< of an activation, from 1

  observer_list() = default;
  /// Those that still watch the arena watch nothing any more, and say so. Nobody is in the arena.
  ~observer_list();
  observer_list(const observer_list&) = delete;
  observer_list& operator=(const observer_list&) = delete;

  /// Activates; false if it is active already.
  bool activate(observer& o);
  /// Deactivates, wherever it is active; nothing if it is not.
  static void deactivate(observer& o);

  [[nodiscard]] bool has_news(number notified) const noexcept {
    const shared_state* const s = state();
    return s != nullptr && s->newest.load(sync::relaxed) > notified;
  }
  [[nodiscard]] bool any() const noexcept { return has_news(0); }

  /// Calls on_scheduler_entry of all activated after `notified`. It goes ahead with each of them: a callback may switch
  /// another one on, which is told at once.
  void notify_entry(number& notified, bool is_worker);
  /// Calls on_scheduler_exit of all that `notified` includes, those that are told of an entry meanwhile, too.
  void notify_exit(const number& notified, bool is_worker);

  // Over a fork. In the child, lists of before are left behind, but for those that go on; nobody is in a callback.
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;
  void go_on_after_fork() noexcept;
  static void begin_anew_after_fork() noexcept;

  /// Shared with the proxies: an observer may be switched off after its arena is gone.
  struct shared_state {
    std::mutex lock;
    std::vector<tbb::detail::r1::observer_proxy*> active;  // by number
    sync::atomic<number> newest{0};
    unsigned forks;  ///< that this process has come out of, when the list was made or went on
  };

 private:
  template <typename Call>
  void visit(number& after, const number& until, Call&& call);

  /// Null until an observer was activated here. acquire: what it points to.
  [[nodiscard]] shared_state* state() const noexcept { return state_.load(sync::acquire); }
  shared_state& made_state();

  sync::spin_lock making_;  ///< of the state
  sync::atomic<shared_state*> state_{nullptr};
  std::shared_ptr<shared_state> owned_;  ///< the same; written once, under `making_`
};

}  // namespace homing::scheduler
