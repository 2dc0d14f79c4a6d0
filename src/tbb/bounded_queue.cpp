/// Where pushers and poppers of a concurrent_bounded_queue block: two wait sets right behind the queue's own data.
///
/// The header knows the two as an opaque array, indexed by "slots available" and "items available". Tickets are handed
/// out by seq_cst read-modify-writes on the counters that the waiters' conditions read, which is what [W4] asks.
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/concurrent_queue.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "sync/atomic.hpp"
#include "sync/wait_set.hpp"

namespace tbb::detail::r1 {

using homing::sync::wait_set;

class alignas(homing::sync::cache_line_bytes) concurrent_monitor {
 public:
  wait_set waiters;
};

namespace {

constexpr std::size_t monitor_count = 2;
static_assert(d2::cbq_slots_avail_tag < monitor_count && d2::cbq_items_avail_tag < monitor_count);

/// Waiters are kept by their ticket as the header compares it, signed: before the first slot it is negative.
std::ptrdiff_t target_of(const wait_set::key& what) noexcept { return static_cast<std::ptrdiff_t>(what.context); }

}  // namespace

std::uint8_t* allocate_bounded_queue_rep(std::size_t queue_rep_size) {
  // The header aligns its part to 128 bytes, so that its size is a multiple of that and the monitors are aligned too.
  const std::size_t bytes = queue_rep_size + monitor_count * sizeof(concurrent_monitor);
  auto* const memory = static_cast<std::uint8_t*>(cache_aligned_allocate(bytes));
  for (std::size_t i = 0; i < monitor_count; ++i) {
    new (memory + queue_rep_size + i * sizeof(concurrent_monitor)) concurrent_monitor();
  }
  return memory;
}

void deallocate_bounded_queue_rep(std::uint8_t* mem, std::size_t) { cache_aligned_deallocate(mem); }

void wait_bounded_queue_monitor(concurrent_monitor* monitors, std::size_t monitor_tag, std::ptrdiff_t target,
                                d1::delegate_base& must_wait) {
  // A hand-over within the header's own measure (32 pauses, 32 yields) saves two system calls; on two CPUs the queue
  // of one slot then takes half the time and a third of the CPU time.
  if (timed_spin_wait_until([&must_wait] { return !must_wait(); })) {
    return;
  }
  for (;;) {
    // The condition itself throws user_abort when it sees that the queue was aborted.
    const wait_set::outcome why = monitors[monitor_tag].waiters.wait({0, static_cast<std::uintptr_t>(target)},
                                                                     [&must_wait] { return !must_wait(); });
    if (why == wait_set::outcome::aborted) {
      throw_exception(exception_id::user_abort);
    }
    if (why == wait_set::outcome::ready || !must_wait()) {
      return;
    }
  }
}

void notify_bounded_queue_monitor(concurrent_monitor* monitors, std::size_t monitor_tag, std::size_t ticket) {
  monitors[monitor_tag].waiters.notify(wait_set::limit::all, [ticket](const wait_set::key& what) {
    return target_of(what) <= static_cast<std::ptrdiff_t>(ticket);
  });
}

void abort_bounded_queue_monitors(concurrent_monitor* monitors) {
  monitors[d2::cbq_items_avail_tag].waiters.abort_all();
  monitors[d2::cbq_slots_avail_tag].waiters.abort_all();
}

}  // namespace tbb::detail::r1
