/// The machine while it runs: masks, cpusets, quotas and plugged CPUs change, and workers follow.
///
/// Nobody polls. Whoever changes the demand for workers, and a worker that has nothing to do, looks if the last look is
/// some time ago. Domains keep their numbers; only which CPUs each has varies. What appears outside them is left alone.
/// Threads:   any; one looks at a time.
/// Protocol:  docs/protocols/arena.md [A19].
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "platform/cgroup.hpp"
#include "platform/clock.hpp"
#include "platform/cpu_set.hpp"
#include "platform/env.hpp"
#include "runtime/settings/control.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "topology/source.hpp"

namespace homing::scheduler {
namespace {

/// Gives a thread its mask back, however its scope ends.
class restored_mask {
 public:
  restored_mask(pid_t thread, const platform::cpu_set& mask) noexcept : thread_(thread), mask_(mask) {}
  ~restored_mask() { static_cast<void>(platform::restrict_to(thread_, mask_)); }
  restored_mask(const restored_mask&) = delete;
  restored_mask& operator=(const restored_mask&) = delete;

 private:
  const pid_t thread_;
  const platform::cpu_set& mask_;
};

}  // namespace

void resource_manager::look_at_machine(std::int64_t not_within_ns) noexcept {
  const std::int64_t now_ns = platform::monotonic_ns();
  std::int64_t looked_ns = looked_ns_.load(sync::relaxed);
  if (now_ns - looked_ns < not_within_ns || machine_.is_virtual()) {
    return;
  }
  // relaxed: it only chooses one of several who would look. What they find is the lock's.
  if (!looked_ns_.compare_exchange_strong(looked_ns, now_ns, sync::relaxed, sync::relaxed)) {
    return;
  }
  try {
    follow_machine();
  } catch (const std::bad_alloc&) {
    // The next look may have more memory.
  }
}

void resource_manager::follow_machine() {
  const auto first_thread = platform::get_affinity(::getpid());
  if (!first_thread.ok() || first_thread.mask.empty()) {
    return;  // refused: what was read at the start stays in force
  }
  const platform::cpu_set usable = usable_now(first_thread.mask);
  std::vector<usable_part> parts = parts_of(usable);
  unsigned cpus = 0;
  for (const usable_part& part : parts) {
    cpus += part.cpus;
  }
  if (cpus == 0) {
    return;  // not one that we know: the kernel runs us somewhere
  }
  unsigned concurrency = cpus;
  if (const auto quota = platform::read_cpu_quota()) {
    concurrency = std::min(concurrency, static_cast<unsigned>(std::clamp(std::ceil(quota->cpus), 1.0, 1e6)));
  }
  concurrency = std::min(concurrency, machine_.cut().thread_limit.value_or(concurrency));
  bool changed = concurrency != default_concurrency();
  {
    const holder hold(*this);
    changed = changed || std::exchange(rebind_, false);
    for (const domain_index d : all_domains()) {
      changed = changed || parts[to_index(d)].binding != state_of(d).usable.binding;
    }
  }
  if (changed) {
    machine_is_now(std::move(parts), concurrency);
  }
}

// What tells a smaller machine from a program that pins its own threads: the kernel, which is asked for all CPUs on
// behalf of a worker; and a mask that all threads have in common, workers too, which we bound elsewhere.
platform::cpu_set resource_manager::usable_now(const platform::cpu_set& first_thread) {
  const holder hold(*this);
  bool changed = std::exchange(first_thread_, first_thread) != first_thread;
  bool all_alike = first_worker_ != nullptr;
  bool any_moved = false;
  pid_t someone = 0;
  for (worker* w = first_worker_; w != nullptr; w = w->next_made) {
    const pid_t thread = w->thread_id.load(sync::relaxed);
    if (thread == 0 || w->binds_itself) {
      continue;
    }
    someone = thread;
    auto now = platform::get_affinity(thread);
    if (!now.ok()) {
      continue;
    }
    if (now.mask.empty()) {
      all_alike = false;  // it sleeps, and its CPUs are offline: when it is woken, the kernel gives it all
      continue;
    }
    all_alike = all_alike && now.mask == first_thread;
    any_moved = any_moved || (!w->seen.empty() && now.mask != w->seen);
    w->seen = std::move(now.mask);
  }
  platform::cpu_set result = usable_;
  if (someone != 0 && all_alike && any_moved) {
    result = first_thread;
  } else if (changed || any_moved) {
    result |= first_thread;
    if (someone != 0) {
      const auto before = platform::get_affinity(someone);
      const int refused = before.ok() ? platform::restrict_to(someone, result) : before.error_number;
      if (refused == 0) {
        const restored_mask back(someone, before.mask);
        const auto granted = platform::get_affinity(someone);
        result &= granted.ok() ? granted.mask : result;
      } else if (refused == EINVAL) {
        result = first_thread;  // none of them is left
      }
    }
  }
  usable_ = result;
  return result;
}

std::vector<resource_manager::usable_part> resource_manager::parts_of(const platform::cpu_set& cpus) const {
  std::vector<usable_part> parts(domain_count_);
  std::vector<topology::cpu_id> unknown;
  const auto add = [&](domain_index d, topology::cpu_id cpu) {
    parts[to_index(d)].binding.add(cpu);
    ++parts[to_index(d)].cpus;
  };
  for (const topology::cpu_id cpu : cpus.ids()) {
    if (const auto d = machine_.domain_of_cpu(cpu)) {
      add(*d, cpu);
    } else {
      unknown.push_back(cpu);
    }
  }
  if (unknown.empty()) {
    return parts;
  }
  // CPUs that were not ours at the start: of which of our domains are they?
  topology::source now{.kind = machine_.kind()};
  now.limits.mask = cpus;
  const topology::read_result larger = topology::read(now);
  for (const topology::cpu_id cpu : unknown) {
    const auto d = larger.value ? larger.value->domain_of_cpu(cpu) : std::nullopt;
    if (!d) {
      continue;
    }
    const topology::domain& theirs = larger.value->at(*d);
    for (const domain_index ours : all_domains()) {
      const topology::domain& known = machine_.at(ours);
      const bool by_node = machine_.kind() == topology::domain_kind::node && known.node == theirs.node;
      if (by_node || !(known.binding & theirs.binding).empty()) {
        add(ours, cpu);
        break;
      }
    }
  }
  return parts;
}

/// Under the lock. Errors: std::bad_alloc; those that are left stay where the kernel lets them.
void resource_manager::rebind_workers() {
  for (worker* w = first_worker_; w != nullptr; w = w->next_made) {
    const platform::cpu_set& binding = state_of(w->bound_to).usable.binding;
    if (w->binds_itself || binding.empty()) {
      continue;  // it comes here itself, or with its domain
    }
    auto bound = platform::set_affinity(w->thread_id.load(sync::relaxed), binding);
    rebind_ = rebind_ || bound.error_number == EINVAL;  // these CPUs have gone meanwhile, and may be back soon
    if (!bound.mask.empty()) {
      w->seen = std::move(bound.mask);
    }
  }
}

void resource_manager::machine_is_now(std::vector<usable_part> parts, unsigned concurrency) noexcept {
  {
    const holder hold(*this);
    for (const domain_index d : all_domains()) {
      std::swap(state_of(d).usable, parts[to_index(d)]);
    }
    default_concurrency_.store(concurrency, sync::relaxed);
    set_default_parallelism(concurrency);
    try {
      rebind_workers();
    } catch (const std::bad_alloc&) {
      // Of the next look, then.
    }
  }
  obey_limit(machine_is::another);
}

/// By the worker itself: when it begins, and when it has moved to another domain. The call of the kernel's is made
/// without the lock: others bind themselves at the same time, or make threads.
void resource_manager::bind_worker(worker& w) noexcept {
  static sync::atomic<bool> said{false};
  try {
    platform::cpu_set binding;
    {
      const holder hold(*this);
      w.bound_to = w.domain;
      w.binds_itself = true;
      binding = state_of(w.domain).usable.binding;
    }
    for (;;) {
      auto bound = platform::get_affinity();            // on one domain it mostly has what its maker had
      if (!binding.empty() && bound.mask != binding) {  // where its domain has gone, it waits for that to come back
        bound = platform::set_affinity(0, binding);
      }
      const holder hold(*this);
      const platform::cpu_set& now = state_of(w.domain).usable.binding;
      if (now != binding) {
        binding = now;  // the machine has changed meanwhile
        continue;
      }
      if (!binding.empty() && bound.mask != binding) {
        if (!bound.ok() && !said.exchange(true, sync::relaxed)) {
          platform::warn("cannot bind workers to their domains: %s; they run where the kernel puts them",
                         std::strerror(bound.error_number));
        }
        rebind_ = rebind_ || bound.error_number == EINVAL;
        looked_ns_.store(0, sync::relaxed);  // part of it has gone, or all: look at once
        first_thread_ = {};
      }
      w.seen = std::move(bound.mask);
      w.binds_itself = false;
      return;
    }
  } catch (const std::bad_alloc&) {
    const holder hold(*this);  // it runs where it ran before, until the next look
    w.binds_itself = false;
    rebind_ = true;
  }
}

}  // namespace homing::scheduler
