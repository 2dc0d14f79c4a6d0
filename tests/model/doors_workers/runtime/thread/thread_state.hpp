/// What a model of workers knows about one thread: no more than slots, sleepers and searchers need.
#pragma once

#include <cstdint>

#include <oneapi/tbb/task_group.h>

#include "observe/counters.hpp"
#include "runtime/settings/steal_policy.hpp"
#include "runtime/task/lane.hpp"
#include "runtime/task/search_scope.hpp"
#include "runtime/task/task_access.hpp"
#include "runtime/thread/visit_mark.hpp"
#include "sync/parker.hpp"

namespace homing::scheduler {

class arena;
struct arena_slot;
struct dispatcher;
struct suspend_point;
struct thread_state;

struct after_switch_action {
  enum class kind : std::uint8_t { nothing, let_resume, recycle, wait_for };
  kind what = kind::nothing;
  suspend_point* left = nullptr;
  const void* wait = nullptr;
  search_scope scope{};
};

enum class thread_kind : std::uint8_t { application, worker };

struct thread_state {
  dispatcher* running = nullptr;
  arena* in = nullptr;
  arena_slot* slot = nullptr;
  slot_id slot_number = no_slot;
  domain_index domain{};
  slot_id last_slot = no_slot;
  bool was_called_soon = false;
  const arena* last_arena = nullptr;
  bool is_absent = false;
  after_switch_action after_switch;
  sync::parker parker;
  observe::counters counters;
  visit_mark visit;
  sync::atomic<unsigned> unjoined_forks{0};
  thread_state* next_record = nullptr;

  void move_to_domain(domain_index to, unsigned /*domain_count*/) noexcept { domain = to; }
};

/// Threads of a model share one thread of the system: nobody is known by it, unless a model says whose code matters.
inline thread_state* this_thread_or_null = nullptr;
thread_state& make_this_thread(thread_kind kind, domain_index domain, std::size_t stack_bytes = 0);
thread_state& this_thread();
inline void leave_this_thread() noexcept {}
[[nodiscard]] bool give_to_visitor(arena& a, const known_visitors& known) noexcept;

}  // namespace homing::scheduler
