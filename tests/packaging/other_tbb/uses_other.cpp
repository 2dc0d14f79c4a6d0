// A library on whatever TBB its project has found: runs a loop, and says whether that was on Homing.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/version.h>

#include <atomic>
#include <cstring>

bool third() {
  std::atomic<int> n{0};
  tbb::parallel_for(0, 1000, [&](int) { ++n; });
  return n == 1000 && std::strstr(TBB_runtime_version(), "oming") != nullptr;
}
