// How long it takes until so many threads run, with nothing but pthread_create(): one thread makes all, or each makes
// two as soon as it runs. What the kernel and the C library leave to be had, beside `ramp`.
//
// usage: bare_threads THREADS [REPETITIONS]
// The first repetition's stacks and heaps are new; the others use them again.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t stack_bytes = std::size_t{4} << 20;

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

enum class shape { chain, tree };

struct crowd {
  crowd(int count, shape s) : form(s), all(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = {this, i, {}};
  }

  struct member {
    crowd* of;
    int number;
    pthread_t thread;
  };
  const shape form;
  std::vector<member> all;  // the first is the caller
  std::atomic<std::size_t> came{0};
  std::atomic<std::int64_t> last_ns{0};

  void make(std::size_t number) {
    if (number >= all.size()) return;
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstacksize(&how, stack_bytes);
    const auto entry = [](void* m) -> void* {
      auto& self = *static_cast<member*>(m);
      self.of->be(static_cast<std::size_t>(self.number));
      return nullptr;
    };
    if (pthread_create(&all[number].thread, &how, entry, &all[number]) != 0) std::abort();
    pthread_attr_destroy(&how);
  }

  void be(std::size_t number) {
    if (form == shape::tree) {
      make(2 * number + 1);
      make(2 * number + 2);
    } else if (number == 0) {
      for (std::size_t other = 1; other < all.size(); ++other) make(other);
    }
    if (came.fetch_add(1) + 1 == all.size()) last_ns.store(now_ns());
    while (last_ns.load() == 0) sched_yield();
  }

  /// Nanoseconds until all run.
  std::int64_t run() {
    const std::int64_t begin_ns = now_ns();
    be(0);
    for (std::size_t other = 1; other < all.size(); ++other) pthread_join(all[other].thread, nullptr);
    return last_ns.load() - begin_ns;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  if (threads < 1) {
    std::fprintf(stderr, "usage: %s THREADS [REPETITIONS]\n", argv[0]);
    return 2;
  }
  for (const shape form : {shape::chain, shape::tree}) {
    std::printf("%d threads, %s:", threads, form == shape::chain ? "one makes all" : "each makes two");
    for (int r = 0; r < repetitions; ++r) std::printf(" %.1f", static_cast<double>(crowd(threads, form).run()) / 1e3);
    std::printf(" us\n");
  }
}
