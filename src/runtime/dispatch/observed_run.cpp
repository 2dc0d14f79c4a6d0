#include "runtime/dispatch/observed_run.hpp"

#include "runtime/arena/arena.hpp"
#include "runtime/task/context.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/thread/traced_scope.hpp"

namespace homing::scheduler {
namespace {

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
  const traced_scope scope(d, home);
  return run_or_cancel(d, work);
}

}  // namespace homing::scheduler
