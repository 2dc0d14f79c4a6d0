/// What our libtbb.so.12 offers beyond oneTBB's interface: a table of functions behind one symbol, found at run time,
/// so that the same program runs on stock oneTBB too.
///
/// Ownership: the table lives as long as the process. Threads: any.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace homing::detail {

struct fork_lane;

/// Out of which threads a lease is granted: all that there are, or those that no arena uses.
enum class lease_source : std::uint32_t { any, idle };
/// `none`: ended, or made before a fork. `crowded`: some worker of an arena is yet to leave.
enum class lease_state : std::uint32_t { none, crowded, clear };

/// The home of an item before a filter: a dense domain, or no_home. `placed` is what place_filter() was given with it,
/// `item` what the filter will be called with. Runs on whichever thread has the item; may throw what the user's
/// function throws.
using item_home = std::uint32_t (*)(const void* placed, void* item);
inline constexpr std::uint32_t no_home = ~std::uint32_t{0};

/// Grows at its end only. Pointers are untyped because this file knows no TBB: tasks are d1::task, contexts
/// d1::task_group_context, arenas d1::task_arena_base.
struct tasks_door {
  std::uint32_t size_bytes;     ///< of the table as the library knows it
  std::uint32_t domain_count;   ///< of the machine that the scheduler runs on
  std::uint32_t first_address;  ///< r1::spawn() takes first_address + d as an affinity to domain d
  /// The domain that the calling thread works in.
  std::uint32_t (*current_domain)() noexcept;
  /// Puts the task into the shared queue of a domain, in the calling thread's arena; somebody waits for it. Errors:
  /// std::bad_alloc, and the task is still the caller's.
  void (*detach)(void* task, void* context, std::uint32_t domain);
  /// As r1::enqueue(), into the shared queue of a domain; null: the calling thread's arena. Errors: as detach().
  void (*enqueue)(void* task, void* arena, std::uint32_t domain);
  /// As d1::task_arena::initialize(), for an arena whose workers are all of one domain. Errors: as initialize().
  void (*initialize_in)(void* arena, std::uint32_t domain);
  /// The calling thread counts as one of that domain from now on. Returns what it was, for the call that ends it.
  /// Errors: std::bad_alloc in a thread that has not used the library before.
  std::uint32_t (*move_to)(std::uint32_t domain);
  /// Gives a filter (d1::base_filter) a home. To be called by create_filter() for the filter that it returns; `placed`
  /// lives as long as the filter.
  void (*place_filter)(void* filter, item_home home, const void* placed) noexcept;
  /// A lease of up to `threads_max` threads, the calling one included; `domains` says for each whether they may come
  /// from it. Returns its number, never 0, and in `granted` the threads of each domain, the calling one in
  /// `own_domain`. Errors: std::bad_alloc.
  std::uint64_t (*take_lease)(std::uint32_t threads_max, lease_source from, const bool* domains, std::uint32_t* granted,
                              std::uint32_t* own_domain);
  /// Asks again. False, and nothing else, if this process has no such lease. Errors: std::bad_alloc.
  bool (*renew_lease)(std::uint64_t lease, std::uint32_t* granted, std::uint32_t* own_domain);
  void (*end_lease)(std::uint64_t lease) noexcept;
  lease_state (*state_of_lease)(std::uint64_t lease) noexcept;
  /// As d1::task_arena::initialize(), for an arena whose threads steal by that homing::steal_policy. Errors: as
  /// initialize().
  void (*initialize_with)(void* arena, std::uint32_t steal);
  /// The calling thread's forks. `known` is of this thread, too: it gets the same until the thread leaves the library,
  /// at its end, and null then; unless several libraries of the program have had theirs kept already. Errors:
  /// std::bad_alloc.
  fork_lane* (*open_lane)(fork_lane** known);
  /// How many slots the calling thread's arena has; and for the first `count` of them, the domain of the thread in it,
  /// or of its own if there is none. Errors: std::bad_alloc.
  std::uint32_t (*map_slots)(std::uint16_t* domains, std::uint32_t count);
  /// As r1::spawn() with an affinity to a slot of that arena; its home is that domain. Errors: std::bad_alloc.
  void (*mail_to_slot)(void* task, void* context, std::uint32_t slot, std::uint32_t domain);
};

/// What every library that has the door offers; what came later is asked for by a function of its own.
inline constexpr std::size_t first_tasks_door_bytes = offsetof(tasks_door, take_lease);

/// In what move_to() returns and takes: the domain is the thread's for good, not only where it was last seen.
inline constexpr std::uint32_t domain_is_fixed = std::uint32_t{1} << 31;

/// The name of the function that returns the table.
inline constexpr const char* tasks_door_name = "homing_tasks_door";
using tasks_door_opener = const tasks_door* (*)();

/// The table of the libtbb.so.12 that `open` is of; null if that is none of ours. Errors: as door().
[[nodiscard]] inline const tasks_door* table_of(void* open) {
  const tasks_door* const table = open == nullptr ? nullptr : reinterpret_cast<tasks_door_opener>(open)();
  return table != nullptr && table->size_bytes >= first_tasks_door_bytes ? table : nullptr;
}

/// The table that the calling library's own names lead to. Hidden: each library asks for itself, since of two libraries
/// in a process one may run on our libtbb.so.12 and the other on another.
[[nodiscard, gnu::visibility("hidden")]] inline const tasks_door* table_of_caller() {
  // By name and not linked: a weak reference would be bound to nothing in a program that is not position-independent.
  return table_of(dlsym(RTLD_DEFAULT, tasks_door_name));
}

/// Null if the caller runs on another libtbb.so.12 than ours. For those who are linked to TBB: theirs is loaded before
/// they run, so that also null is for good. Hidden: what one library has found is no answer for another, which may
/// come with the first libtbb.so.12. Errors: std::bad_alloc until it has been found once: the library reads the machine
/// first.
[[nodiscard, gnu::visibility("hidden")]] inline const tasks_door* door() {
  static const tasks_door* const found = table_of_caller();
  return found;
}

/// The door if it knows steal policies, null otherwise.
[[nodiscard]] inline const tasks_door* policy_door() {
  constexpr std::size_t needed_bytes = offsetof(tasks_door, initialize_with) + sizeof(tasks_door::initialize_with);
  const tasks_door* const table = door();
  return table != nullptr && table->size_bytes >= needed_bytes ? table : nullptr;
}

/// The door if it has lanes, null otherwise.
[[nodiscard]] inline const tasks_door* fork_door() {
  constexpr std::size_t needed_bytes = offsetof(tasks_door, open_lane) + sizeof(tasks_door::open_lane);
  const tasks_door* const table = door();
  return table != nullptr && table->size_bytes >= needed_bytes ? table : nullptr;
}

/// The door if it knows where an arena's threads are, null otherwise.
[[nodiscard]] inline const tasks_door* loop_door() {
  constexpr std::size_t needed_bytes = offsetof(tasks_door, mail_to_slot) + sizeof(tasks_door::mail_to_slot);
  const tasks_door* const table = door();
  return table != nullptr && table->size_bytes >= needed_bytes ? table : nullptr;
}

/// The door if it has leases, null otherwise. It is looked for until it is found, also in a library that only others
/// use: whoever takes a lease need not have TBB itself. Errors: as door().
[[nodiscard]] inline const tasks_door* lease_door() {
  static std::atomic<const tasks_door*> known{nullptr};  // null: not yet
  constexpr std::size_t needed_bytes = offsetof(tasks_door, state_of_lease) + sizeof(tasks_door::state_of_lease);
  const tasks_door* table = known.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  table = table_of_caller();
  if (table == nullptr) {
    if (void* const library = dlopen("libtbb.so.12", RTLD_LAZY | RTLD_NOLOAD)) {
      table = table_of(dlsym(library, tasks_door_name));
      dlclose(library);  // ours is never unloaded
    }
  }
  if (table == nullptr || table->size_bytes < needed_bytes) return nullptr;
  known.store(table, std::memory_order_release);
  return table;
}

}  // namespace homing::detail
