// A plugin that uses TBB inside: what tests/unit/plugin/program.cpp loads and unloads.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <new>

/// The sum of 1..count by all threads, or -1 if the workers could not be ended. As oneTBB asks of those who unload code
/// that tasks were made of: the last instructions of a task are the plugin's own, after the wait for it has returned.
extern "C" [[gnu::visibility("default")]] long plugin_sum(long count) {
  tbb::task_scheduler_handle handle{tbb::attach{}};
  const long sum = tbb::parallel_reduce(
      tbb::blocked_range<long>(1, count + 1), 0L,
      [](const tbb::blocked_range<long>& part, long partial) {
        for (long i = part.begin(); i != part.end(); ++i) {
          partial += i;
        }
        return partial;
      },
      [](long a, long b) { return a + b; });
  return tbb::finalize(handle, std::nothrow) ? sum : -1;
}
