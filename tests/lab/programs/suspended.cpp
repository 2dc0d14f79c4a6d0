// Tasks that are suspended and go on, each on a stack of its own: what they keep in registers and on the stack is
// theirs afterwards, the rounding mode too, and an exception that is thrown before and caught after passes over the
// switch.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int tasks = 64;

void suspend(std::vector<std::thread>& others, int i) {
  oneapi::tbb::task::suspend([&others, i](oneapi::tbb::task::suspend_point here) {
    others[i] = std::thread([here] { oneapi::tbb::task::resume(here); });
  });
}

/// More than the registers that a call keeps, on both sides of a switch.
bool keeps(std::vector<std::thread>& others, int i) {
  volatile double of = i + 1;
  double kept[24];
  long whole[24];
  for (int k = 0; k != 24; ++k) {
    kept[k] = std::sqrt(of + k);
    whole[k] = i * 1000L + k;
  }
  try {
    try {
      throw std::runtime_error("before");
    } catch (const std::runtime_error&) {
      suspend(others, i);
      throw;
    }
  } catch (const std::runtime_error& error) {
    bool right = std::string(error.what()) == "before" && std::uncaught_exceptions() == 0;
    for (int k = 0; k != 24; ++k) right = right && kept[k] == std::sqrt(of + k) && whole[k] == i * 1000L + k;
    return right;
  }
}

}  // namespace

int main() {
  std::atomic<int> right{0}, rounded{0};
  std::vector<std::thread> others(tasks);
  std::fesetround(FE_UPWARD);
  oneapi::tbb::task_group_context context(
      oneapi::tbb::task_group_context::isolated,
      oneapi::tbb::task_group_context::default_traits | oneapi::tbb::task_group_context::fp_settings);
  oneapi::tbb::parallel_for(
      0, tasks, 1,
      [&](int i) {
        // Relaxed: only counted.
        if (keeps(others, i)) right.fetch_add(1, std::memory_order_relaxed);
        if (std::fegetround() == FE_UPWARD) rounded.fetch_add(1, std::memory_order_relaxed);
      },
      context);
  for (std::thread& t : others) t.join();
  std::printf("kept %d, rounded %d\n", right.load(), rounded.load());
}
