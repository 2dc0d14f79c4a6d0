/// HOMING_REPORT and HOMING_TRACE: what all threads counted and did, written when the library is unloaded, which is
/// when the process ends.
#include <unistd.h>

#include <new>
#include <string_view>

#include <homing/version.hpp>

#include "observe/report.hpp"
#include "observe/trace.hpp"
#include "observe/trace_file.hpp"
#include "platform/env.hpp"
#include "platform/env_path.hpp"
#include "platform/page_calls.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/workers/resource_manager.hpp"

namespace homing::scheduler {
namespace {

void add_threads(observe::report& r) {
  r.threads_in.resize(r.domains);
  for (const thread_state* t = all_thread_states(); t != nullptr; t = t->next_record) {
    ++r.threads;
    // relaxed: where it was at some moment is all that is asked.
    const std::uint32_t domain = to_index(t->domain_for_reports.load(sync::relaxed));
    if (domain < r.domains) ++r.threads_in[domain];
    for (std::size_t e = 0; e < r.totals.size(); ++e) {
      r.totals[e] += t->counters.read(static_cast<observe::event>(e));
    }
    t->homes.for_each(domain, t->counters.read(observe::event::home),
                      [&](unsigned ran_in, unsigned home, std::uint64_t tasks) {
                        r.homes[{home, ran_in}] += tasks;
                      });
  }
}

void add_pages(observe::report& r) {
  const auto mappings = platform::kernel_page_calls().numa_maps({0, ~platform::address{0}});
  if (!mappings) return;
  r.pages_known = true;
  for (const platform::numa_mapping& m : *mappings) {
    for (const auto& [node, bytes] : m.bytes_on) r.bytes_on[static_cast<int>(node)] += bytes;
  }
}

/// One process, one line, one trace: the child of a fork keeps its parent's choice and adds its own.
class report_at_exit {
 public:
  report_at_exit() noexcept {
    // relaxed: threads come later.
    observe::tasks_are_counted.store(report_.is_given() || trace_.is_given(), sync::relaxed);
    if (trace_.is_given()) observe::switch_trace_on();
  }
  ~report_at_exit() {
    try {
      write();
    } catch (const std::bad_alloc&) {
      platform::warn("no memory for the report");
    }
  }
  report_at_exit(const report_at_exit&) = delete;
  report_at_exit& operator=(const report_at_exit&) = delete;

 private:
  void write() const {
    const resource_manager* manager = resource_manager::current_or_null();
    if (report_.is_given()) {
      observe::report r{};
      r.version = homing::version();
      r.process = ::getpid();
      r.domains = manager != nullptr ? manager->domain_count() : 0;
      r.made_up = manager != nullptr && manager->machine().is_virtual();
      add_threads(r);
      add_pages(r);
      observe::write_report(r, report_.c_str());
    }
    if (trace_.is_given() && observe::threads_without_trace() > 0) {
      platform::warn("HOMING_TRACE=%s: there was no memory for the tasks of %u threads",
                     platform::printable(trace_.c_str()).c_str(), observe::threads_without_trace());
    }
    // A process that ran no task has no trace: programs start others and fork, and one file is not for all of them.
    if (trace_.is_given() && manager != nullptr && observe::has_traced_tasks()) {
      std::vector<observe::traced_domain> domains;
      for (const topology::domain& d : manager->machine().domains()) domains.push_back({static_cast<int>(d.node)});
      observe::write_trace(trace_.c_str(), domains);
    }
  }

  platform::env_path report_{"HOMING_REPORT", [](const char* value) { return std::string_view(value) != "stderr"; }};
  platform::env_path trace_{"HOMING_TRACE", [](const char*) { return true; }};
};

report_at_exit reporter;

}  // namespace
}  // namespace homing::scheduler
