/// HOMING_REPORT: sums the counters of all threads when the library is unloaded, which is when the process ends.
#include <cstring>

#include <homing/version.hpp>

#include "observe/report.hpp"
#include "platform/env.hpp"
#include "runtime/resource_manager.hpp"
#include "runtime/thread_state.hpp"

namespace homing::runtime {
namespace {

/// Read when the library is loaded: a program may change its environment later. One process, one line: the child of
/// a fork keeps its parent's choice and adds its own.
class report_at_exit {
 public:
  report_at_exit() noexcept {
    if (const auto path = platform::env("HOMING_REPORT")) {
      std::memcpy(path_, path->data(), path->size());
    }
  }
  ~report_at_exit() {
    if (path_[0] == 0) {
      return;
    }
    observe::report r{};
    r.version = homing::version();
    const resource_manager* manager = resource_manager::current_or_null();
    r.domains = manager != nullptr ? manager->domain_count() : 0;
    r.made_up = manager != nullptr && manager->machine().is_virtual();
    for (const thread_state* t = all_thread_states(); t != nullptr; t = t->next_record) {
      ++r.threads;
      for (std::size_t e = 0; e < r.totals.size(); ++e) {
        r.totals[e] += t->counters.read(static_cast<observe::event>(e));
      }
    }
    observe::write_report(r, path_);
  }
  report_at_exit(const report_at_exit&) = delete;
  report_at_exit& operator=(const report_at_exit&) = delete;

 private:
  char path_[platform::env_length_max + 1] = {};
};

report_at_exit reporter;

}  // namespace
}  // namespace homing::runtime
