// A user's program on oneTBB's headers: sums numbers in parallel and says whose library it runs on. CALLS, if it is
// defined, is a function of another library, which says whether that is on Homing, too.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/version.h>

#include <cstdio>
#include <cstring>
#include <functional>

#ifdef CALLS
bool CALLS();
#endif

int main() {
  const long sum = tbb::parallel_reduce(
      tbb::blocked_range<long>(0, 100000), 0L,
      [](const tbb::blocked_range<long>& part, long total) {
        for (long i = part.begin(); i != part.end(); ++i) total += i;
        return total;
      },
      std::plus<long>());
#ifdef CALLS
  if (!CALLS()) return 2;
#endif
  const bool ours = std::strstr(TBB_runtime_version(), "oming") != nullptr;
  std::printf("sum %ld on %s\n", sum, ours ? "Homing" : "another library");
  return sum == 4999950000L && ours ? 0 : 1;
}
