// Lines whose fate is known: two threads take turns, and each turn writes one of each kind. A shared word, what a lock
// guards, two fields and two variables on one line, padded counters, and allocated memory.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

struct counters_pair {
  unsigned long left = 0, right = 0;
};
struct alignas(64) crowd {
  unsigned kind = 0;
  counters_pair counters __attribute__((aligned(16)));
};
struct alignas(64) guarded {
  std::atomic<unsigned> lock{0};
  unsigned value = 0;
};
struct alignas(64) padded {
  unsigned long count = 0;
};
alignas(64) std::atomic<unsigned> turn{0};
crowd neighbours;
guarded locked;
padded apart[2];
// Side by side as they are written here: built with -fno-toplevel-reorder.
alignas(64) unsigned long first_half = 1;
unsigned long second_half = 1;

namespace {

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

template <class Word>
void count(Word& word) {
  // Volatile: each turn reads and writes it.
  volatile Word& w = word;
  w = w + 1;
}

[[gnu::noinline]] void take_turns(unsigned me, unsigned turns, unsigned long* allocated) {
  for (unsigned t = me; t < turns; t += 2) {
    // Acquire and release: a turn sees all of the one before.
    while (turn.load(std::memory_order_acquire) != t) {
      for (int pause = 0; pause != 64; ++pause) __builtin_ia32_pause();
    }
    locked.lock.exchange(1, std::memory_order_acquire);
    count(locked.value);
    locked.lock.store(0, std::memory_order_release);
    count(me == 0 ? neighbours.counters.left : neighbours.counters.right);
    count(me == 0 ? first_half : second_half);
    count(apart[me].count);
    volatile unsigned long& of_allocated = allocated[7 * me];
    of_allocated = of_allocated + 1;
    turn.store(t + 1, std::memory_order_release);
  }
}

}  // namespace

int main(int words, char** word) {
  const unsigned turns = words > 1 ? static_cast<unsigned>(std::atoi(word[1])) : 1000;
  const std::unique_ptr<unsigned long, decltype(&std::free)> allocated(
      static_cast<unsigned long*>(std::aligned_alloc(64, 64)), &std::free);
  allocated.get()[0] = allocated.get()[7] = 0;
  std::thread other([&] {
    run_on(13);
    take_turns(1, turns, allocated.get());
  });
  run_on(9);
  take_turns(0, turns, allocated.get());
  other.join();
  std::printf("%u %lu %lu\n", locked.value, neighbours.counters.left + neighbours.counters.right,
              first_half + second_half);
}
