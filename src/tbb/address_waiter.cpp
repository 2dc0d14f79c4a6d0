/// Waiting on an address: a fixed table of wait sets, as tbb::mutex and tbb::rw_mutex use it.
///
/// The address picks a set; several addresses may share one, and the key keeps them apart. The callers change their
/// state by a seq_cst read-modify-write before they notify, which is what [W4] asks of them.
#include <oneapi/tbb/detail/_waitable_atomic.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/wait_set.hpp"

namespace tbb::detail::r1 {
namespace {

using homing::sync::wait_set;

struct alignas(homing::sync::cache_line_bytes) bucket {
  wait_set waiters;
};

constexpr unsigned bucket_count_log2 = 8;

/// Zero-filled and never destroyed: mutexes work in static constructors and destructors too.
constinit bucket table[std::size_t{1} << bucket_count_log2];

[[maybe_unused]] const int fork_handler_registered = ::pthread_atfork(nullptr, nullptr, [] {
  for (bucket& each : table) {
    each.waiters.reset_after_fork();
  }
});

wait_set& set_of(const void* address) noexcept {
  // Fibonacci hashing: the product's high bits depend on all bits of the address.
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15u;
  return table[reinterpret_cast<std::uintptr_t>(address) * golden_ratio >> (64 - bucket_count_log2)].waiters;
}

std::uintptr_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void wait_on_address(void* address, d1::delegate_base& wakeup_condition, std::uintptr_t context) {
  // Why it ended is of no interest: every caller looks at its state again.
  static_cast<void>(
      set_of(address).wait({number_of(address), context}, [&wakeup_condition] { return wakeup_condition(); }));
}

void notify_by_address(void* address, std::uintptr_t context) {
  set_of(address).notify(wait_set::limit::all, [address, context](const wait_set::key& what) {
    return what.address == number_of(address) && what.context == context;
  });
}

void notify_by_address_one(void* address) {
  set_of(address).notify(wait_set::limit::one,
                         [address](const wait_set::key& what) { return what.address == number_of(address); });
}

void notify_by_address_all(void* address) {
  set_of(address).notify(wait_set::limit::all,
                         [address](const wait_set::key& what) { return what.address == number_of(address); });
}

}  // namespace tbb::detail::r1
