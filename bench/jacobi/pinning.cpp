#include "pinning.hpp"

#include <homing/topology.hpp>

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace jacobi {
namespace {

thread_local std::optional<homing::topology::bound_thread> bound;

void warn_once(int error) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    std::fprintf(stderr, "jacobi: threads are not pinned: %s (said once)\n", std::strerror(error));
  }
}

// bound_thread has bound us to the domain; its end brings the old mask back, whatever we narrow here.
int narrow_to(homing::cpu_id cpu) {
  const int number = homing::to_number(cpu);
  const std::size_t bytes = CPU_ALLOC_SIZE(number + 1);
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(number + 1), [](cpu_set_t* s) { CPU_FREE(s); });
  if (!set) return ENOMEM;
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(number, bytes, set.get());
  return ::sched_setaffinity(0, bytes, set.get()) == 0 ? 0 : errno;
}

}  // namespace

void pin_thread(int rank, int count) {
  unpin_thread();
  const homing::topology::snapshot machine = homing::topology::current();
  std::size_t cpus = 0;
  for (const auto& d : machine.domains()) cpus += d.cpus.size();
  const auto r = static_cast<std::size_t>(rank);
  const auto n = static_cast<std::size_t>(count);
  std::size_t place = n < cpus ? r * cpus / n : r % cpus;
  for (const auto& d : machine.domains()) {
    if (place >= d.cpus.size()) {
      place -= d.cpus.size();
      continue;
    }
    bound.emplace(machine, d.index);
    const int error =
        bound->error_number() != 0 ? bound->error_number() : narrow_to(d.runs_on[place % d.runs_on.size()]);
    if (error != 0) warn_once(error);
    return;
  }
}

void unpin_thread() noexcept { bound.reset(); }

}  // namespace jacobi
