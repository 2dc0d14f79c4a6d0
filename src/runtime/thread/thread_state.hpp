/// What the runtime knows about one thread, worker or application's.
///
/// Ownership: records are never freed, only reused by later threads, so that a waker may touch one that has just left.
/// Threads:   all fields belong to the thread itself, but for the parker (anybody may unpark), the counters and the
///            mark of its visit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <homing/detail/read_anew.hpp>

#include "memory/small_object_pool.hpp"
#include "observe/counters.hpp"
#include "observe/task_homes.hpp"
#include "observe/trace.hpp"
#include "runtime/settings/steal_policy.hpp"
#include "runtime/task/context.hpp"
#include "runtime/task/lane.hpp"
#include "runtime/task/search_scope.hpp"
#include "runtime/task/task_access.hpp"
#include "runtime/thread/deep_stack.hpp"
#include "runtime/thread/steal_backoff.hpp"
#include "runtime/thread/visit_mark.hpp"
#include "sync/linked_list.hpp"
#include "sync/parker.hpp"

namespace homing::scheduler {

class arena;
class attachment;
class reference_vertices;
struct arena_slot;
struct dispatcher;

struct suspend_point;
struct thread_state;
class traced_scope;

/// What a thread has to do for the stack that it has just left: docs/protocols/suspend.md [U2].
struct after_switch_action {
  enum class kind : std::uint8_t { nothing, let_resume, recycle, wait_for };
  kind what = kind::nothing;
  suspend_point* left = nullptr;
  const void* wait = nullptr;  ///< of a stack that is left in a wait
  search_scope scope{};        ///< and what it may take meanwhile
};

/// A thread's stay in the arena that it is in without having asked for one.
class implicit_stay {
 public:
  virtual void end(thread_state& t) noexcept = 0;

 protected:
  ~implicit_stay() = default;
};

enum class thread_kind : std::uint8_t { application, worker };

/// A record's place among those that no thread has.
struct record_place : sync::list_hook<record_place> {
  explicit record_place(thread_state& t) noexcept : whose(t) {}
  thread_state& whose;
};

struct alignas(sync::cache_line_bytes) thread_state {
  dispatcher* running = nullptr;  ///< of the stack that this thread runs; null until it has entered an arena
  arena* in = nullptr;
  arena_slot* slot = nullptr;
  slot_id slot_number = no_slot;
  domain_index domain{};       ///< a worker's for life, an application thread's since its last dispatch
  std::uint16_t l3_group = 0;  ///< within the domain, when the search for work began
  thread_kind kind = thread_kind::application;
  bool is_observed = false;      ///< its tasks are counted: observed_run.hpp
  bool is_absent = false;        ///< from a slot that it holds [S15]
  bool domain_is_fixed = false;  ///< a worker's, a pinned thread's, dealt on a made-up machine, or the only one
  memory::object_pool* pool = nullptr;
  context_list* contexts = nullptr;
  lane* forks = nullptr;  ///< made at its first fork, kept with the record
  /// Branches of forks that the stack which runs has made, which have left a lane, or never were there, and are not
  /// joined yet. The thread changes it, and a thief under the lane's lock; who leaves the stack takes it along.
  sync::atomic<unsigned> unjoined_forks{0};
  thread_kind entered_as = thread_kind::application;  ///< `in`: a worker that comes by execute() is no worker there
  std::uint64_t notified = 0;              ///< newest observer of `in` that this thread has told of its entry
  std::uint64_t random = 0;                ///< state of the choice among equals
  reference_vertices* vertices = nullptr;  ///< made when it first needs one, kept with the record
  unsigned number = 0;                     ///< of the record: to which shard of a queue it pushes
  unsigned next_shard = 0;                 ///< from which it takes first

  attachment* stay = nullptr;       ///< the innermost
  std::int64_t looks_since_ns = 0;  ///< when it first looked for work after its last task; 0: it has some
  steal_backoff backoff;
  bool was_called_soon = false;       ///< a worker: after it had left the arena before
  slot_id expected_victim = no_slot;  ///< at whom the search looks first; none: at a random one
  bool resumed_last = false;  ///< its last task found elsewhere was a stack to go on with: now it looks at others first
  std::optional<domain_index> domain_of_next_arena;  ///< of the one that this thread is about to make; none: any
  std::optional<steal_policy> steal_in_next_arena;   ///< none: as in others
  after_switch_action after_switch;
  deep_stack own_stack;               ///< of its own stack: dispatcher::deep
  implicit_stay* implicit = nullptr;  ///< of an application thread in its implicit arena
  slot_id last_slot = no_slot;        ///< and the arena below: where a worker was, so that it comes back to its cache
  const arena* last_arena = nullptr;
  observe::trace_buffer* trace = nullptr;  ///< null: no trace is made
  traced_scope* traced = nullptr;          ///< in it, the innermost task of the stack that this thread runs

  alignas(sync::cache_line_bytes) sync::parker parker;
  observe::counters counters;
  observe::task_homes homes;
  sync::atomic<domain_index> domain_for_reports{domain_index{}};  ///< as `domain`, for other threads
  record_place free_place{*this};                                 ///< on the list of records that no thread has

  // Whoever ends an arena reads these of all threads.
  alignas(sync::cache_line_bytes) visit_mark visit;  ///< the outermost by execute()
  thread_state* next_record = nullptr;               ///< all records of the process; written once

  /// An application's thread is in another domain now.
  void move_to_domain(domain_index to, unsigned domain_count) noexcept {
    if (to != domain) homes.leave_domain(to_index(domain), counters.read(observe::event::home), domain_count);
    domain = to;
    // relaxed: a report looks at threads that go on, and publishes nothing by it.
    domain_for_reports.store(to, sync::relaxed);
  }

  /// A pseudo-random number below `bound` (> 0); xorshift, per thread.
  std::uint32_t random_below(std::uint32_t bound) noexcept {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    return static_cast<std::uint32_t>((random >> 32U) * bound >> 32U);
  }
};

/// The calling thread's record, or null before its first call into the runtime. constinit: without it, each use
/// would first ask whether the variable has an initializer to run.
extern constinit thread_local thread_state* this_thread_or_null
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/// Makes the record; noinline so that no caller keeps the address of a thread-local variable over a stack switch.
/// `stack_bytes`: with which the thread was made; 0: the system is asked. Errors: std::bad_alloc.
[[gnu::noinline]] thread_state& make_this_thread(thread_kind kind, domain_index domain, std::size_t stack_bytes = 0);

/// The calling thread's record, made if need be. It may not be in an arena yet. Looked up anew each time: what runs
/// between two calls may have moved the stack to another thread.
[[gnu::always_inline]] inline thread_state& this_thread() {
  thread_state* t;
  HOMING_READ_ANEW(t, this_thread_or_null, "_ZN6homing9scheduler19this_thread_or_nullE");
  if (__builtin_expect(t == nullptr, false)) {
    return make_this_thread(thread_kind::application, domain_index{0});
  }
  return *t;
}

/// Ends the calling thread's registration: at thread exit, and for a worker that goes.
void leave_this_thread() noexcept;

// Around a fork: the child keeps the calling thread's record only.
void lock_records_for_fork() noexcept;
void unlock_records_after_fork() noexcept;
void keep_only_this_record_after_fork() noexcept;

/// The newest of all records ever made, linked by next_record; counters of ended threads are kept.
thread_state* all_thread_states() noexcept;

/// [A4] A reference of the caller's becomes a visitor's; false if there is none who needs it, and the caller has it
/// still.
[[nodiscard]] bool give_to_visitor(arena& a, const known_visitors& known) noexcept;

}  // namespace homing::scheduler
