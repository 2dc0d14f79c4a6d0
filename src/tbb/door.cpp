/// Exported: what <homing/tasks.hpp> and its kin need beyond oneTBB's interface.
#include <homing/detail/tasks_door.hpp>
#include <oneapi/tbb/task_arena.h>

#include "runtime/arena_access.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/pipeline.hpp"
#include "runtime/resource_manager.hpp"

namespace {

using namespace homing::scheduler;

std::uint32_t current_domain() noexcept {
  thread_state& t = this_thread();
  if (t.kind == thread_kind::worker || t.domain_is_fixed || (t.running != nullptr && !t.running->outermost)) {
    return t.domain;
  }
  return resource_manager::current().domain_of_this_thread();
}

void detach(void* work, void* context, std::uint32_t domain) {
  homing::scheduler::detach(arena_thread(), *static_cast<task*>(work), *static_cast<task_group_context*>(context),
                            static_cast<std::uint16_t>(domain));
}

void enqueue(void* work, void* user, std::uint32_t domain) {
  arena* a = user == nullptr ? nullptr : arena_access::arena_of(*static_cast<tbb::detail::d1::task_arena_base*>(user));
  if (a == nullptr) {
    a = arena_thread().in;
  }
  auto& t = *static_cast<task*>(work);
  bind_context(arena_thread(), a->default_context());
  task_access::set_context(t, &a->default_context());
  task_access::set_isolation(t, no_isolation);
  task_access::set_address(t, {no_slot, no_slot, static_cast<std::uint16_t>(domain)});
  a->enqueue(t, domain);
}

std::uint32_t move_to(std::uint32_t domain) noexcept {
  using homing::detail::domain_is_fixed;
  thread_state& t = this_thread();
  const std::uint32_t before = t.domain | (t.domain_is_fixed ? domain_is_fixed : 0);
  t.move_to_domain(static_cast<std::uint16_t>(domain & ~domain_is_fixed), resource_manager::current().domain_count());
  t.domain_is_fixed = (domain & domain_is_fixed) != 0;
  return before;
}

void initialize_in(void* user, std::uint32_t domain) {
  thread_state& t = arena_thread();
  t.domain_of_next_arena = static_cast<int>(domain);
  static_cast<tbb::task_arena*>(user)->initialize();
  t.domain_of_next_arena = -1;
}

void place_filter(void* filter, homing::detail::item_home home, const void* placed) noexcept {
  tbb::detail::r1::pipeline::place(*static_cast<tbb::detail::d1::base_filter*>(filter), home, placed);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const homing::detail::tasks_door* homing_tasks_door() {
  static const homing::detail::tasks_door table{sizeof table,    resource_manager::current().domain_count(),
                                                first_domain_slot, &current_domain, &detach, &enqueue,
                                                &initialize_in,   &move_to, &place_filter};
  return &table;
}
