// Task groups nested so deep that thousands are alive at once: each waits for a child with a group of
// its own. The time must grow with their number, not with its square.
//
// The deep cases want a fresh process each: a second descent puts its groups at the same addresses of
// the stack, where stock 2023.2 finds them in its map instead of adding them.
#include <pthread.h>

#include <oneapi/tbb/task_group.h>

#include "../common/harness.hpp"

namespace {

/// 100,000 levels of group, task and wait; reserved, and only touched as far as the recursion goes.
constexpr std::size_t stack_bytes = std::size_t{1} << 30;

void nest(std::uint64_t left, std::uint64_t& reached) {
  ++reached;
  if (left == 0) return;
  tbb::task_group group;
  group.run([left, &reached] { nest(left - 1, reached); });
  group.wait();
}

struct call {
  int argc;
  char** argv;
  int status;
};

void* run(void* opaque) {
  call& given = *static_cast<call*>(opaque);
  const tbb::global_control stack(tbb::global_control::thread_stack_size, stack_bytes);
  bench::session session(given.argc, given.argv, "live_groups");
  const auto depth = [&](std::uint64_t groups) {
    return [&session, groups](std::uint64_t iterations) {
      for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
        std::uint64_t reached = 0;
        nest(groups, reached);
        session.expect(reached == groups + 1, "every level is reached");
      }
    };
  };
  session.measure("500", depth(500));
  session.measure("10k", depth(10'000), {.load = bench::weight::heavy});
  session.measure("100k", depth(100'000), {.load = bench::weight::heavy});
  given.status = session.end();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  call given{argc, argv, 0};
  pthread_attr_t attributes;
  pthread_t thread{};
  if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, stack_bytes) != 0 ||
      pthread_create(&thread, &attributes, run, &given) != 0) {
    std::fprintf(stderr, "live_groups: cannot get a stack of 1 GiB: raise `ulimit -v`\n");
    return 1;
  }
  pthread_join(thread, nullptr);
  return given.status;
}
