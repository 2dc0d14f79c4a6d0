#include "runtime/traced_run.hpp"

#include "runtime/context.hpp"
#include "runtime/thread_state.hpp"

namespace homing::scheduler {
namespace {

class traced_scope {
 public:
  traced_scope(dispatcher& d, std::uint16_t home) noexcept
      : d_(d),
        home_(home),
        how_(d.thread->trace->how_taken(d.thread->counters)),
        begin_ns_(observe::trace_clock_ns()) {}
  ~traced_scope() {
    const thread_state& now = *d_.thread;
    if (now.trace != nullptr) now.trace->add({begin_ns_, observe::trace_clock_ns(), now.domain, home_, how_});
  }
  traced_scope(const traced_scope&) = delete;
  traced_scope& operator=(const traced_scope&) = delete;

 private:
  dispatcher& d_;
  std::uint16_t home_;
  observe::taken_from how_;
  std::int64_t begin_ns_;
};

}  // namespace

task* run_traced(dispatcher& d, task& work, std::uint16_t home) {
  const traced_scope scope(d, home);
  return context_access::is_cancelled(*d.ed.context) ? work.cancel(d.ed) : work.execute(d.ed);
}

}  // namespace homing::scheduler
