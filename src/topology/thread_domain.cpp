/// The domain of the calling thread: what it is bound to, where it runs, or what it was dealt.
#include <homing/detail/unbound.hpp>
#include <homing/topology.hpp>

#include <pthread.h>

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "platform/cpu_set.hpp"
#include "platform/env.hpp"
#include "sync/atomic.hpp"
#include "topology/snapshot.hpp"

namespace homing::topology {
namespace {

// What a thread knows of itself. Nothing in it needs a destructor: without memory to note one, the C library would end
// the process.
struct thread_place {
  unsigned long generation = 0;       // of `machine`; 0: none yet
  const snapshot* machine = nullptr;  // owned; freed at the thread's end
  std::optional<domain_index> bound;  // by a bound_thread, in a snapshot of its own: perhaps one of more domains
  std::optional<domain_index> dealt;  // in that snapshot
};

constinit thread_local thread_place here;

void forget_machine(void* machine) {
  here.machine = nullptr;
  here.generation = 0;
  delete static_cast<const snapshot*>(machine);
}

// Made when the library is loaded; its value, of each thread, is here.machine.
struct end_key {
  pthread_key_t key{};
  const bool made = pthread_key_create(&key, &forget_machine) == 0;
};
const end_key at_thread_end;

// Throws std::bad_alloc, with what the thread knew left as it was.
void keep_machine(unsigned long generation) {
  auto fresh = std::make_unique<const snapshot>(current());
  if (!at_thread_end.made || pthread_setspecific(at_thread_end.key, fresh.get()) != 0) throw std::bad_alloc();
  delete std::exchange(here.machine, fresh.release());
  here.generation = generation;
  here.dealt.reset();
}

// The n-th thread that asks: domains by turns, each as often in a round as it has CPUs, spread over the round. With
// domains of one size that is round-robin.
domain_index deal(const snapshot& machine) noexcept {
  static constinit sync::atomic<unsigned> turns{0};
  std::size_t cpus = 0;
  for (const domain_info& d : machine.domains()) cpus += d.cpus.size();
  // relaxed: only that the numbers differ matters.
  std::size_t turn = turns.fetch_add(1, sync::relaxed) % cpus;
  for (std::size_t round = 0;; ++round) {
    for (const domain_info& d : machine.domains()) {
      if (d.cpus.size() <= round) continue;
      if (turn == 0) return d.index;
      --turn;
    }
  }
}

}  // namespace

domain_index current_domain() noexcept try {
  const unsigned long generation = current_generation();
  if (here.generation != generation) keep_machine(generation);
  const snapshot& machine = *here.machine;
  if (machine.domains().size() == 1) return domain_index{0};
  if (here.bound && to_index(*here.bound) < machine.domains().size()) return *here.bound;
  if (const auto running = machine.domain_of(platform::current_cpu())) return *running;
  if (!here.dealt) here.dealt = deal(machine);
  return *here.dealt;
} catch (const std::bad_alloc&) {
  return domain_index{0};  // nobody has read the machine yet, and there is no memory to: the next call tries again
}

struct bound_thread::saved {
  platform::cpu_set mask;
  std::optional<domain_index> bound;
};

bound_thread::bound_thread(const snapshot& machine, domain_index domain) : saved_(std::make_unique<saved>()) {
  platform::cpu_set wanted;
  for (const cpu_id cpu : machine.at(domain).runs_on) wanted.add(cpu);
  auto old = platform::get_affinity();
  error_number_ = old.ok() ? platform::restrict_to(0, wanted) : old.error_number;
  if (error_number_ != 0) return;
  saved_->mask = std::move(old.mask);  // nothing may throw while the thread is bound, and nobody undoes it
  saved_->bound = std::exchange(here.bound, domain);
}

bound_thread::~bound_thread() {
  if (error_number_ != 0) return;
  here.bound = saved_->bound;
  // The old mask may be impossible by now (a smaller cpuset): then the thread stays where it is.
  static_cast<void>(platform::restrict_to(0, saved_->mask));
}

}  // namespace homing::topology

void homing::detail::tell_unbound(int error_number) noexcept {
  static constinit sync::atomic<bool> said{false};
  // relaxed: only who is first matters.
  if (!said.exchange(true, sync::relaxed)) {
    platform::warn("cannot bind a thread to the domain of its pinned section: %s; it runs where the kernel puts it",
                   std::strerror(error_number));
  }
}
