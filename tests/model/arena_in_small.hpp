/// The production's arena for models, with what it asks of others in small: work is a count, the machine has one or two
/// domains (doors_workers/). To be included by one file a program.
#pragma once

#include <mutex>
#include <optional>

#include "engine/model.hpp"
#include "runtime/arena/arena.cpp"
#include "runtime/arena/arena_memory.cpp"
#include "runtime/arena/arena_queues.cpp"
#include "runtime/arena/searchers.cpp"
#include "runtime/arena/sleepers.cpp"
#include "runtime/task/resume_queue.cpp"

namespace homing::memory {
constexpr std::align_val_t line{sync::cache_line_bytes};
void* cache_aligned_allocate(std::size_t bytes) { return ::operator new(bytes, line); }
void cache_aligned_deallocate(void* memory) noexcept { ::operator delete(memory, line); }
}  // namespace homing::memory

namespace tbb::detail::r1 {
void __TBB_EXPORTED_FUNC initialize(d1::task_group_context& /*context*/) {}
void __TBB_EXPORTED_FUNC destroy(d1::task_group_context& /*context*/) {}
}  // namespace tbb::detail::r1

namespace homing::scheduler {

/// Who may visit an arena, and the lock of those who give a reference. None in most models.
struct giving {
  thread_state* newest = nullptr;
  std::mutex one_at_a_time;
  static inline giving* here = nullptr;
};
bool give_to_visitor(arena& a, const known_visitors& known) noexcept {
  giving* const all = giving::here;
  return all != nullptr && give_to_visitor(a, known, all->newest, all->one_at_a_time);
}

inline unsigned domains_of_machine = 1;   ///< of the next execution
inline unsigned own_cpus_of_machine = 0;  ///< the same
inline const topology::machine one_domain(1, 2);
inline const topology::machine two_domains(2, 1);

scheduler_settings read_settings() {
  scheduler_settings result{domains_of_machine == 1 ? one_domain : two_domains, domains_of_machine};
  result.own_cpus = own_cpus_of_machine;
  return result;
}

inline void stay_in(thread_state& t, arena& a, slot_id number) {
  t.in = &a;
  t.slot = &a.slot(number);
  t.slot_number = number;
}

/// Whoever wants workers gets none.
class no_workers : public worker_supplier {
 public:
  no_workers() = default;
  virtual ~no_workers() = default;
  no_workers(const no_workers&) = delete;
  no_workers& operator=(const no_workers&) = delete;
  void link(arena& /*a*/) override {}
  void retire(arena& a) override { a.end(); }
  void demand_changed() noexcept override {}
  bool demand_rose(arena& /*a*/, domain_index /*home*/) noexcept override { return false; }
  void serve_newcomers() noexcept override {}
  void end_mandatory_turn() noexcept override {}
  bool list_newcomer(arena& /*a*/) noexcept override { return false; }
  bool send_worker(arena& /*a*/, domain_index /*home*/, unsigned /*domains*/,
                   turned_away /*patience*/) noexcept override {
    return false;
  }
  bool make_worker(arena& /*a*/, domain_index /*home*/) noexcept override { return false; }
  void insist_on_worker(arena& /*a*/) noexcept override {}
  bool park(sync::parker& p) noexcept override {
    p.park();
    return true;
  }

 private:
  bool look_at_refusal() noexcept override { return false; }
};

/// For so many threads, of which some are the application's for sure; of the machine's only domain if it says so.
inline arena& make_arena(no_workers& supplier, int threads = 3, unsigned reserved = 3,
                         std::optional<domain_index> only_domain = {}) {
  domains_of_machine = 1;
  work_places::ended = 0;
  arena_request request;
  request.max_concurrency = threads;
  request.reserved_slots = reserved;
  request.only_domain = only_domain;
  return arena::make(supplier, request);
}

/// An application thread's stay.
struct visit {
  thread_state me;
  arena& in;

  explicit visit(arena& a) : in(a) {
    const slot_id number = a.occupy_slot(me, thread_kind::application);
    model::require(number != no_slot, "there is room");
    stay_in(me, a, number);
  }
  void push() {
    in.spawned.push();
    in.new_work(no_isolation, domain_index{0}, *me.slot);
  }
  void leave() { in.release_slot(me.slot_number); }
};

/// As users' tasks: only its place in a queue is of interest.
inline task& any_task() {
  alignas(64) static std::byte bytes[sizeof(task)];
  return reinterpret_cast<task&>(bytes);
}

}  // namespace homing::scheduler
