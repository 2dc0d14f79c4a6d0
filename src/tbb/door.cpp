/// Exported: what <homing/tasks.hpp> and its kin need beyond oneTBB's interface.
#include <oneapi/tbb/task_arena.h>
#include <homing/detail/tasks_door.hpp>
#include <homing/steal_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <new>

#include "runtime/dispatch/dispatch.hpp"
#include "runtime/pipeline/pipeline.hpp"
#include "runtime/process/implicit_arena.hpp"
#include "runtime/thread/thread_domain.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "tbb/fork_calls.hpp"
#include "tbb/live_arena.hpp"

namespace {

using namespace homing::scheduler;

std::uint32_t current_domain() noexcept try {
  thread_state& t = this_thread();
  if (t.kind == thread_kind::worker || t.domain_is_fixed || (t.running != nullptr && !t.running->outermost)) {
    return to_index(t.domain);
  }
  return to_index(domain_of_this_thread(resource_manager::current().settings()));
} catch (const std::bad_alloc&) {
  return 0;  // a thread that has no record yet, and no memory for one
}

void detach(void* work, void* context, std::uint32_t domain) {
  homing::scheduler::detach(arena_thread(), *static_cast<task*>(work), *static_cast<task_group_context*>(context),
                            domain_index{domain});
}

void enqueue(void* work, void* user, std::uint32_t domain) {
  arena* a = user == nullptr ? nullptr : live_arena_of(*static_cast<tbb::detail::d1::task_arena_base*>(user));
  if (a == nullptr) {
    a = arena_thread().in;
  }
  auto& t = *static_cast<task*>(work);
  thread_state& here = arena_thread();
  bind_context(here, a->default_context());
  task_access::set_context(t, &a->default_context());
  task_access::set_isolation(t, no_isolation);
  task_access::set_address(t, {no_slot, no_affinity, domain_index{domain}});
  a->enqueue(t, domain_index{domain}, here.number);
}

std::uint32_t move_to(std::uint32_t domain) {
  using homing::detail::domain_is_fixed;
  thread_state& t = this_thread();
  const std::uint32_t before = to_index(t.domain) | (t.domain_is_fixed ? domain_is_fixed : 0);
  t.move_to_domain(domain_index{domain & ~domain_is_fixed}, resource_manager::current().domain_count());
  t.domain_is_fixed = (domain & domain_is_fixed) != 0;
  return before;
}

/// What the next arena of this thread is to be: for that one only, also if there is no memory for it.
struct arena_order {
  thread_state& t = arena_thread();
  arena_order() = default;
  arena_order(const arena_order&) = delete;
  arena_order& operator=(const arena_order&) = delete;
  ~arena_order() {
    t.domain_of_next_arena.reset();
    t.steal_in_next_arena.reset();
  }
};

void initialize_in(void* user, std::uint32_t domain) {
  const arena_order order;
  order.t.domain_of_next_arena = domain_index{domain};
  static_cast<tbb::task_arena*>(user)->initialize();
}

static_assert(
    static_cast<std::uint32_t>(homing::steal_policy::near) == static_cast<std::uint32_t>(steal_policy::near) &&
    static_cast<std::uint32_t>(homing::steal_policy::random) == static_cast<std::uint32_t>(steal_policy::random) &&
    static_cast<std::uint32_t>(homing::steal_policy::domain) == static_cast<std::uint32_t>(steal_policy::domain));

void initialize_with(void* user, std::uint32_t steal) {
  const arena_order order;
  order.t.steal_in_next_arena = static_cast<steal_policy>(steal);
  static_cast<tbb::task_arena*>(user)->initialize();
}

void place_filter(void* filter, homing::detail::item_home home, const void* placed) noexcept {
  tbb::detail::r1::pipeline::place(*static_cast<tbb::detail::d1::base_filter*>(filter), home, placed);
}

// Users' programs have compiled this layout in. Another one gets a function of its own at the door's end; open_lane()
// then returns null, with which programs of before do without a lane.
using homing::detail::fork_branch;
using homing::detail::fork_calls;
using homing::detail::fork_lane;
static_assert(offsetof(fork_branch, run) == 0 && offsetof(fork_branch, end) == 8 &&
              offsetof(fork_branch, unwanted) == 12 && offsetof(fork_branch, wait) == 16 && sizeof(fork_branch) == 32);
static_assert(offsetof(fork_calls, pushed) == 0 && offsetof(fork_calls, join) == 8 &&
              offsetof(fork_calls, give) == 16 && offsetof(fork_calls, is_cancelled) == 24 && sizeof(fork_calls) == 32);
static_assert(offsetof(fork_lane, bottom) == 0 && offsetof(fork_lane, top) == 8 && offsetof(fork_lane, limit) == 16 &&
              offsetof(fork_lane, slots) == 24 && offsetof(fork_lane, calls) == 32 &&
              offsetof(fork_lane, began_ns) == 64 && offsetof(fork_lane, home) == 72 && sizeof(fork_lane) == 128);

fork_lane* open_lane(fork_lane** known) {
  lane& forks = lane_of_this_thread();
  forks.keep_known(known);
  return &forks;
}

std::uint32_t map_slots(std::uint16_t* domains, std::uint32_t count) {
  const arena& a = *arena_thread().in;
  for (const arena_slot& slot : a.slots().first(std::min(count, a.slot_count()))) {
    const domain_index there = slot.hold.is_held() ? slot.domain.load(homing::sync::relaxed) : slot.home;
    *domains++ = static_cast<std::uint16_t>(to_index(there));
  }
  return a.slot_count();
}

void mail_to_slot(void* work, void* context, std::uint32_t slot, std::uint32_t domain) {
  spawn(arena_thread(), *static_cast<task*>(work), *static_cast<task_group_context*>(context),
        affinity{static_cast<std::uint16_t>(slot)}, domain_index{domain});
}

lessee asking_thread() {
  const thread_state& t = this_thread();  // made here if need be: current_domain() would not tell
  return {current_domain(), t.kind == thread_kind::worker};
}

void tell(const domain_counts& workers, const lessee& who, std::uint32_t* granted, std::uint32_t* own_domain) noexcept {
  std::copy(workers.begin(), workers.end(), granted);
  ++granted[who.domain];
  *own_domain = who.domain;
}

std::uint64_t take_lease(std::uint32_t threads_max, homing::detail::lease_source from, const bool* domains,
                         std::uint32_t* granted, std::uint32_t* own_domain) {
  resource_manager& manager = resource_manager::current();
  lease_wish wish;
  wish.workers_max = threads_max - 1;
  wish.from = from == homing::detail::lease_source::idle ? lease_wish::source::idle : lease_wish::source::any;
  wish.domains.assign(domains, domains + manager.domain_count());
  const lessee who = asking_thread();
  const auto [number, workers] = manager.take_lease(wish, who);
  tell(workers, who, granted, own_domain);
  return number;
}

bool renew_lease(std::uint64_t lease, std::uint32_t* granted, std::uint32_t* own_domain) {
  const lessee who = asking_thread();
  const auto workers = resource_manager::current().renew_lease(lease, who);
  if (workers) {
    tell(*workers, who, granted, own_domain);
  }
  return workers.has_value();
}

void end_lease(std::uint64_t lease) noexcept { resource_manager::current().end_lease(lease); }

homing::detail::lease_state state_of_lease(std::uint64_t lease) noexcept {
  using state = homing::detail::lease_state;
  const auto crowded = resource_manager::current().is_crowded(lease);
  return !crowded ? state::none : *crowded ? state::crowded : state::clear;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const homing::detail::tasks_door* homing_tasks_door() {
  static const homing::detail::tasks_door table{.size_bytes = sizeof table,
                                                .domain_count = resource_manager::current().domain_count(),
                                                .first_address = first_domain_affinity,
                                                .current_domain = &current_domain,
                                                .detach = &detach,
                                                .enqueue = &enqueue,
                                                .initialize_in = &initialize_in,
                                                .move_to = &move_to,
                                                .place_filter = &place_filter,
                                                .take_lease = &take_lease,
                                                .renew_lease = &renew_lease,
                                                .end_lease = &end_lease,
                                                .state_of_lease = &state_of_lease,
                                                .initialize_with = &initialize_with,
                                                .open_lane = &open_lane,
                                                .map_slots = &map_slots,
                                                .mail_to_slot = &mail_to_slot};
  return &table;
}
