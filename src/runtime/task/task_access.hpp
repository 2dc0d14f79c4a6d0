/// What the runtime keeps in the reserved words of a task that belongs to the user.
///
/// Layout of d1::task (64 bytes, oneTBB's): vtable, traits, six reserved words, ours:
///   0 context, 1 isolation tag, 2 slots and home (below), 4 kind; 3 and 5 link it in a shared queue.
/// Threads: written by the thread that owns the task (spawner, then taker); a queue or deque hands it over.
#pragma once

#include <cstdint>

#include <oneapi/tbb/detail/_task.h>

#include "runtime/task/indices.hpp"
#include "sync/sharded_queue.hpp"

namespace homing::scheduler {

using task = tbb::detail::d1::task;
using task_group_context = tbb::detail::d1::task_group_context;

/// 0: not isolated. Otherwise tasks of one isolated region share a value that is theirs alone while it lasts.
using isolation_tag = std::intptr_t;
inline constexpr isolation_tag no_isolation = 0;

/// Where a task was made, where it wishes to run, and which domain that is.
struct task_address {
  slot_id original_slot = no_slot;
  affinity wished = no_affinity;
  domain_index home{};
};

}  // namespace homing::scheduler

namespace tbb::detail::r1 {

/// The friend that oneTBB's header names; the only way to a task's reserved words.
struct task_accessor {
  using task = d1::task;

  static d1::task_group_context* context(const task& t) noexcept {
    return reinterpret_cast<d1::task_group_context*>(t.m_reserved[0]);
  }
  static void set_context(task& t, d1::task_group_context* context) noexcept {
    t.m_reserved[0] = reinterpret_cast<std::uintptr_t>(context);
  }

  static homing::scheduler::isolation_tag isolation(const task& t) noexcept {
    return static_cast<homing::scheduler::isolation_tag>(t.m_reserved[1]);
  }
  static void set_isolation(task& t, homing::scheduler::isolation_tag tag) noexcept {
    t.m_reserved[1] = static_cast<std::uint64_t>(tag);
  }

  static homing::scheduler::task_address address(const task& t) noexcept {
    const std::uint64_t word = t.m_reserved[2];
    return {homing::scheduler::slot_id{static_cast<std::uint16_t>(word)},
            homing::scheduler::affinity{static_cast<std::uint16_t>(word >> 16U)},
            homing::scheduler::domain_index{static_cast<std::uint32_t>(word >> 32U)}};
  }
  static void set_address(task& t, homing::scheduler::task_address a) noexcept {
    t.m_reserved[2] = std::uint64_t{to_index(a.original_slot)} | std::uint64_t{to_number(a.wished)} << 16U |
                      std::uint64_t{to_index(a.home)} << 32U;
  }

  /// sync::shared_queue's Link. The mark is a word that nobody writes by chance: a user's task comes with any.
  static task* next(const task& t) noexcept { return reinterpret_cast<task*>(t.m_reserved[3]); }
  static void set_next(task& t, task* next) noexcept { t.m_reserved[3] = reinterpret_cast<std::uintptr_t>(next); }
  static bool is_linked(const task& t) noexcept { return t.m_reserved[5] == linked_mark; }
  static void set_linked(task& t, bool linked) noexcept { t.m_reserved[5] = linked ? linked_mark : 0; }

  /// True for the runtime's own task that continues a suspended stack.
  static bool is_resume(const task& t) noexcept { return t.m_reserved[4] == resume_kind; }
  static void set_resume(task& t) noexcept { t.m_reserved[4] = resume_kind; }

 private:
  static constexpr std::uint64_t resume_kind = 0x7265;
  static constexpr std::uint64_t linked_mark = 0xA6C3'9E51'D40B'7F28;
};

}  // namespace tbb::detail::r1

namespace homing::scheduler {
using task_access = tbb::detail::r1::task_accessor;
using task_queue = sync::shared_queue<task, task_access>;
using sharded_task_queue = sync::sharded_queue<task, task_access>;
}  // namespace homing::scheduler
