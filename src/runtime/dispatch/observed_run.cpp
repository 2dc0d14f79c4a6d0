#include "runtime/dispatch/observed_run.hpp"

#include "runtime/arena/arena.hpp"
#include "runtime/task/context.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {
namespace {

std::uint16_t number_of(domain_index d) noexcept { return static_cast<std::uint16_t>(to_index(d)); }

/// Notes a task where it began; another thread may end it.
class traced_scope {
 public:
  traced_scope(const thread_state& t, domain_index home) noexcept
      : trace_(*t.trace),
        place_(trace_.begin(
            {observe::trace_clock_ns(), number_of(t.domain), number_of(home), trace_.how_taken(t.counters)})) {}
  ~traced_scope() { trace_.end(place_, observe::trace_clock_ns()); }
  traced_scope(const traced_scope&) = delete;
  traced_scope& operator=(const traced_scope&) = delete;

 private:
  observe::trace_buffer& trace_;
  observe::traced_place place_;
};

void count_task(thread_state& t, domain_index home) noexcept {
  if (home == t.domain) {
    t.counters.add(observe::event::home);
  } else {
    t.counters.add(observe::event::away);
    t.homes.ran_away(to_index(t.domain), to_index(home), t.in->domain_count());
  }
}

task* run_or_cancel(dispatcher& d, task& work) {
  return context_access::is_cancelled(*d.ed.context) ? work.cancel(d.ed) : work.execute(d.ed);
}

}  // namespace

task* run_observed(dispatcher& d, task& work, domain_index home) {
  count_task(*d.thread, home);
  if (d.thread->trace == nullptr) {
    return run_or_cancel(d, work);
  }
  const traced_scope scope(*d.thread, home);
  return run_or_cancel(d, work);
}

}  // namespace homing::scheduler
