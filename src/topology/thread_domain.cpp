/// The domain of the calling thread: what it is bound to, where it runs, or what it was dealt.
#include <homing/detail/unbound.hpp>
#include <homing/topology.hpp>

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

// What a thread knows of itself.
struct thread_place {
  unsigned long generation = 0;  // of `machine`; 0: none yet
  std::optional<snapshot> machine;
  std::optional<domain_index> bound;  // by a bound_thread, in that snapshot
  std::optional<domain_index> dealt;  // in that snapshot
};

thread_local thread_place here;

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
  if (here.generation != generation) {
    here.machine = current();
    here.generation = generation;
    here.dealt.reset();
    if (here.bound && to_index(*here.bound) >= here.machine->domains().size()) here.bound.reset();
  }
  const snapshot& machine = *here.machine;
  if (machine.domains().size() == 1) return domain_index{0};
  if (here.bound) return *here.bound;
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
