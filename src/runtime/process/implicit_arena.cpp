#include "runtime/process/implicit_arena.hpp"

#include <memory>
#include <optional>

#include "runtime/arena/arena.hpp"
#include "runtime/process/external_thread_pin.hpp"
#include "runtime/stack/stay.hpp"
#include "runtime/thread/thread_domain.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

struct stay_in_implicit_arena final : implicit_stay {
  void end(thread_state& t) noexcept override { leave_implicit_arena(t, after_use::workers_end); }

  std::optional<attachment> where;
  arena* in = nullptr;
  std::unique_ptr<external_thread_pin> pin;
};

stay_in_implicit_arena* stay_of(const thread_state& t) noexcept {
  return static_cast<stay_in_implicit_arena*>(t.implicit);
}

/// The thread that ends the process stays in its implicit arena: only the observers there are told, as when a thread
/// ends.
class end_of_process {
 public:
  constexpr end_of_process() noexcept = default;
  ~end_of_process() {
    thread_state* const t = this_thread_or_null;
    if (t != nullptr && t->in != nullptr && in_implicit_arena_or_none(*t)) {
      t->in->observers.notify_exit(t->notified, false);
      t->notified = 0;
    }
  }
  end_of_process(const end_of_process&) = delete;
  end_of_process& operator=(const end_of_process&) = delete;
};

const end_of_process last_exit;

}  // namespace

thread_state& enter_implicit_arena(thread_state& t) {
  resource_manager& manager = resource_manager::current();
  auto stay = std::make_unique<stay_in_implicit_arena>();  // all that may throw comes before the slot is taken
  if (external_thread_pin::wanted(manager)) {
    stay->pin = std::make_unique<external_thread_pin>(manager, t);
  } else {
    t.move_to_domain(domain_of_this_thread(manager.settings()), manager.domain_count());
  }
  arena& a = arena::make(manager, arena_request{});
  a.add_user();
  a.account().is_implicit.store(true, sync::relaxed);
  stay->in = &a;
  stay->where.emplace(t, a, a.occupy_slot(t, thread_kind::application), thread_kind::application);
  t.implicit = stay.release();
  return t;
}

void leave_implicit_arena(thread_state& t, after_use workers) noexcept {
  stay_in_implicit_arena* const stay = stay_of(t);
  if (stay == nullptr) {
    return;
  }
  arena& a = *stay->in;
  if (a.observers.any()) {
    a.observers.notify_exit(t.notified, false);
  }
  t.implicit = nullptr;
  delete stay;
  a.account().is_implicit.store(false, sync::relaxed);
  a.drop_user(workers);
}

bool in_implicit_arena_or_none(const thread_state& t) noexcept {
  const stay_in_implicit_arena* const stay = stay_of(t);
  return t.in == (stay == nullptr ? nullptr : stay->in);
}

void abandon_arenas_after_fork(thread_state& t) noexcept {
  // Branches that were given are in the old arena. Those that are private go along to the new one.
  const bool has_given_forks = t.unjoined_forks.load(sync::relaxed) != 0;
  if (in_implicit_arena_or_none(t) && (t.running == nullptr || t.running->outermost) && !has_given_forks) {
    t.implicit = nullptr;  // left to the parent's past: its locks may be held by threads that do not exist here
    t.running = nullptr;
    t.in = nullptr;
    t.slot = nullptr;
    t.slot_number = no_slot;
  }
}

}  // namespace homing::scheduler
