/// What our libtbb.so.12 offers beyond oneTBB's interface: a table of functions behind one symbol, found at run time, so
/// that the same program runs on stock oneTBB too.
///
/// Ownership: the table lives as long as the process. Threads: any.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace homing::detail {

/// The home of an item before a filter: a dense domain, or no_home. `placed` is what place_filter() was given with it, `item`
/// what the filter will be called with. Runs on whichever thread has the item; may throw what the user's function throws.
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
  std::uint32_t (*move_to)(std::uint32_t domain) noexcept;
  /// Gives a filter (d1::base_filter) a home. To be called by create_filter() for the filter that it returns; `placed` lives
  /// as long as the filter.
  void (*place_filter)(void* filter, item_home home, const void* placed) noexcept;
};

/// In what move_to() returns and takes: the domain is the thread's for good, not only where it was last seen.
inline constexpr std::uint32_t domain_is_fixed = std::uint32_t{1} << 31;

/// The name of the function that returns the table.
inline constexpr const char* tasks_door_name = "homing_tasks_door";

/// Null if the process runs on another libtbb.so.12 than ours.
[[nodiscard]] inline const tasks_door* door() noexcept {
  static const tasks_door* const found = [] {
    using opener = const tasks_door* (*)();
    // By name and not linked: a weak reference would be bound to nothing in a program that is not position-independent.
    const auto open = reinterpret_cast<opener>(dlsym(RTLD_DEFAULT, tasks_door_name));
    const tasks_door* table = open == nullptr ? nullptr : open();
    return table != nullptr && table->size_bytes >= sizeof(tasks_door) ? table : nullptr;
  }();
  return found;
}

}  // namespace homing::detail
