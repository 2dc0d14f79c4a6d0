/// The proxy of an affinitized task, in two places at once: its creator's deque and a mailbox.
///
/// Whoever takes the proxy first gets the task; whoever takes it second gets nothing and frees the proxy.
///
/// Ownership: the deque entry and the mailbox item each own one of the proxy's two lives.
/// Threads:   take() once from each place, from any thread.
/// Protocol:  docs/protocols/mailbox.md [M7], [M8]. Source: TBB-NUMA 3.3 (a task in two places), 4.4.2, 4.4.3.
#pragma once

#include <cstdint>

#include "memory/small_object_pool.hpp"
#include "platform/check.hpp"
#include "runtime/task/task_access.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

class task_proxy {
 public:
  task_proxy(task& t, memory::object_pool& pool) noexcept : task_(&t), pool_(&pool) {}

  /// The task, or null if the other place was first; then the proxy is gone.
  [[nodiscard]] task* take(memory::object_pool& mine) noexcept {
    // [M7] acq_rel: acquire what the creator wrote into the task; release this side's last use before M8 frees it.
    task* t = task_.exchange(nullptr, sync::acq_rel);
    if (t == nullptr) {
      free(mine);  // [M8] second: nobody else can reach the proxy
    }
    return t;
  }

  /// The second life's end where nobody fetches it any more: its mailbox goes, from whatever thread.
  void abandon() noexcept {
    // relaxed: nobody else can reach the proxy.
    platform::require(task_.load(sync::relaxed) == nullptr, "M8: mail that its arena's end finds has no task");
    memory::object_pool* pool = pool_;
    this->~task_proxy();
    pool->deallocate_remote(this, sizeof(task_proxy));
  }

  void free(memory::object_pool& mine) noexcept {
    memory::object_pool* pool = pool_;
    this->~task_proxy();
    mine.deallocate(*pool, this, sizeof(task_proxy));
  }

 private:
  sync::atomic<task*> task_;
  memory::object_pool* pool_;
};

/// A word of a deque or mailbox: a task's address, or a proxy's with bit 0 set.
inline std::uintptr_t as_item(task& t) noexcept { return reinterpret_cast<std::uintptr_t>(&t); }
inline std::uintptr_t as_item(task_proxy& p) noexcept { return reinterpret_cast<std::uintptr_t>(&p) | 1U; }
inline bool is_proxy(std::uintptr_t item) noexcept { return (item & 1U) != 0; }
inline task* as_task(std::uintptr_t item) noexcept { return reinterpret_cast<task*>(item); }
inline task_proxy* as_proxy(std::uintptr_t item) noexcept {
  return reinterpret_cast<task_proxy*>(item & ~std::uintptr_t{1});
}

/// What a taker may see of an item before it owns it: isolation in the low 48 bits, affinity in the high 16.
inline constexpr std::uint64_t isolation_mask = (std::uint64_t{1} << 48U) - 1;
inline std::uint64_t make_tag(isolation_tag isolation, affinity wished) noexcept {
  return (static_cast<std::uint64_t>(isolation) & isolation_mask) | std::uint64_t{to_number(wished)} << 48U;
}
inline affinity tag_affinity(std::uint64_t tag) noexcept { return affinity{static_cast<std::uint16_t>(tag >> 48U)}; }
/// Exact for pointers below 2^48, which user addresses are; a taker verifies what it took.
inline bool tag_fits(std::uint64_t tag, isolation_tag isolation) noexcept {
  return isolation == no_isolation || ((tag ^ static_cast<std::uint64_t>(isolation)) & isolation_mask) == 0;
}

}  // namespace homing::scheduler
