#include "runtime/thread/thread_state.hpp"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <new>
#include <system_error>

#include "topology/machine.hpp"

namespace homing::scheduler {

constinit thread_local thread_state* this_thread_or_null __attribute__((tls_model("initial-exec"), used)) = nullptr;

namespace {

std::mutex records_lock;
sync::atomic<thread_state*> newest_record{nullptr};
sync::linked_list<record_place> free_records;

void at_thread_end(void*) { leave_this_thread(); }

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t k{};
    if (const int error = pthread_key_create(&k, &at_thread_end)) {
      throw std::system_error(error, std::generic_category(), "homing: no key to learn of the end of threads");
    }
    return k;
  }();
  return key;
}

/// One that nobody has, or a new one in that memory; only what cannot throw may come after it.
thread_state& take_record(memory::object_pool& memory) {
  const std::lock_guard hold(records_lock);
  if (const record_place* const left = free_records.pop_front()) {
    return left->whose;
  }
  void* const room = memory.allocate_for_good(sizeof(thread_state));
  context_list& contexts = make_context_list(memory);
  auto* const t = new (room) thread_state();
  t->contexts = &contexts;
  t->next_record = newest_record.load(sync::relaxed);
  t->number = t->next_record == nullptr ? 0 : t->next_record->number + 1;
  // release: a reader of the list sees a whole record.
  newest_record.store(t, sync::release);
  return *t;
}

}  // namespace

thread_state& make_this_thread(thread_kind kind, domain_index domain, std::size_t stack_bytes) {
  // What may throw comes first: a thread for which there was no memory leaves nothing behind, and may try again.
  struct pool_release {
    void operator()(memory::object_pool* pool) const noexcept { memory::object_pool::release(*pool); }
  };
  std::unique_ptr<memory::object_pool, pool_release> pool(&memory::object_pool::acquire(to_index(domain)));
  if (pthread_setspecific(end_key(), pool.get()) != 0) {  // any value: at_thread_end() asks the thread itself
    throw std::bad_alloc();
  }
  thread_state* const t = &take_record(*pool);
  t->kind = kind;
  t->domain_is_fixed = kind == thread_kind::worker;
  if (t->domain != domain) {  // a record's first domain is 0, and a machine that is read only now has had no tasks
    t->move_to_domain(domain, static_cast<unsigned>(topology::process_machine().domains().size()));
  }
  t->trace = observe::make_trace_buffer(t->counters);
  t->is_observed = observe::tasks_are_counted.load(sync::relaxed);  // set before there are threads
  t->pool = pool.release();
  t->random = reinterpret_cast<std::uintptr_t>(t) * 0x9E3779B97F4A7C15U | 1U;
  t->own_stack = deep_part_of_this_stack(stack_bytes);
  contexts_of_this_thread() = t->contexts;
  this_thread_or_null = t;
  return *t;
}

void leave_this_thread() noexcept {
  thread_state* t = this_thread_or_null;
  if (t == nullptr) {
    return;
  }
  if (t->implicit != nullptr) {
    t->implicit->end(*t);
  }
  if (t->forks != nullptr) {
    t->forks->forget_known();
  }
  this_thread_or_null = nullptr;
  contexts_of_this_thread() = nullptr;
  memory::object_pool::release(*t->pool);
  t->pool = nullptr;
  t->running = nullptr;
  t->in = nullptr;
  t->slot = nullptr;
  t->last_arena = nullptr;
  t->traced = nullptr;
  const std::lock_guard hold(records_lock);
  free_records.push_front(t->free_place);
}

thread_state* all_thread_states() noexcept { return newest_record.load(sync::acquire); }

bool give_to_visitor(arena& a, const known_visitors& known) noexcept {
  return give_to_visitor(a, known, all_thread_states(), records_lock);
}

void lock_records_for_fork() noexcept {
  static_cast<void>(end_key());  // no thread is in the middle of making it
  records_lock.lock();
}
void unlock_records_after_fork() noexcept { records_lock.unlock(); }

void keep_only_this_record_after_fork() noexcept {
  thread_state* mine = this_thread_or_null;
  free_records.forget();  // of the parent's threads: never freed, and never used here
  if (mine != nullptr) {
    mine->next_record = nullptr;
    mine->vertices = nullptr;  // [V4]
    mine->counters.begin_anew();
    mine->homes.begin_anew();
  }
  newest_record.store(mine, sync::relaxed);
  observe::restart_trace_after_fork(mine == nullptr ? nullptr : mine->trace);
}

}  // namespace homing::scheduler
