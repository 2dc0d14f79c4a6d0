/// What an arena asks of the resource manager and has from it: the numbers that both sides need.
///
/// Ownership: the arena's. The manager finds arenas through the links in here.
/// Threads:   the atomics: any; the rest as said.
/// Protocols: docs/protocols/arena.md [A3] to [A5], [A9], [A11], [A14], [A16].
#pragma once

#include <cstdint>
#include <span>

#include "platform/check.hpp"
#include "runtime/arena/arena_memory.hpp"
#include "runtime/task/indices.hpp"
#include "sync/atomic.hpp"
#include "sync/linked_list.hpp"

namespace homing::scheduler {

class arena;

/// [A22] Whether an allotment leaves an arena the workers that ran dry just now.
enum class keep_young : bool { no, yes };

/// An arena's place on a list of the manager's.
struct arena_place : sync::list_hook<arena_place> {
  explicit arena_place(arena& a) noexcept : whose(a) {}
  arena& whose;
};

struct worker_account : sync::list_hook<worker_account> {
  /// What lies in the arena's block.
  [[nodiscard]] static constexpr std::size_t bytes_for(unsigned domains) noexcept { return 3 * domains * sizeof(int); }
  worker_account(arena& whose, arena_room& room, unsigned domains) noexcept
      : owner(whose),
        place_to_call(whose),
        place(whose),
        present(room.make<int>(domains)),
        searching(room.make<int>(domains)),
        share(room.make<int>(domains)) {}
  worker_account(const worker_account&) = delete;
  worker_account& operator=(const worker_account&) = delete;

  arena& owner;

  // Workers read these between tasks, and pushers when nobody searches; written when workers come, go, or are allotted.
  alignas(sync::cache_line_bytes) sync::atomic<int> workers{0};  ///< in the arena or on their way
  sync::atomic<int> allotted{0};                                 ///< by the resource manager
  sync::atomic<int> users{0};                                    ///< task_arena objects and application threads
  sync::atomic<bool> busy{false};                                ///< wants workers
  sync::atomic<bool> mandatory_share{false};                     ///< allotted is for the time while mandatory only
  sync::atomic<bool> mandatory{false};  ///< has enqueued tasks: must get one worker even where none is allowed
  sync::atomic<bool> trimmed{false};    ///< its share is what it had use for, not what it might get
  sync::atomic<bool> listed_for_allotment{false};  ///< on a list of the manager's, or a newcomer
  sync::atomic<domain_index> called_for{
      domain_index{}};  ///< the domain of the newest call: a hint for those who call on its behalf
  sync::atomic<bool> called_for_deques{false};  ///< the same: for what lies in a deque
  sync::atomic<unsigned> starved{0};            ///< calls for a worker since the last allotment that could not be heard

  alignas(sync::cache_line_bytes) sync::atomic<int> references{1};  ///< [A4]
  sync::atomic<bool> kept{false};           ///< one reference waits for a worker to come and drop it [A5]
  sync::atomic<bool> is_implicit{false};    ///< an application thread's, which is one of the users
  sync::atomic<arena*> successor{nullptr};  ///< in the child of a fork, of one that is left behind [A29]

  sync::plain<arena*> next_newcomer = nullptr;  ///< its lister's, then the manager's
  sync::atomic<bool> to_be_called{false};  ///< on a list of arenas to be called for, with a reference [A16]
  arena_place place_to_call;               ///< of whoever has taken the list
  // Guarded by the resource manager's lock:
  arena_place place;                 ///< among those that want workers
  std::uint64_t served_in = 0;       ///< the last allotment that gave it workers
  const std::span<int> present{};    ///< workers by domain as an allotment begins
  const std::span<int> searching{};  ///< of these, those that look for work
  const std::span<int> share{};      ///< what it gives

  void add_reference() noexcept {
    const int before = references.fetch_add(1, sync::relaxed);
    platform::require_hot([&] { return before > 0; }, "A4: a count of none never rises again");
  }
  /// True for the one that makes the arena busy, who is to tell the supplier. relaxed: behind it are the exchange of
  /// `listed` and a full fence [A9]; partner: an allotment, or a worker that announces itself idle.
  [[nodiscard]] bool become_busy() noexcept { return !busy.load(sync::relaxed) && !busy.exchange(true, sync::relaxed); }
  /// For a worker inside: nobody else refers to the arena, so nobody can bring it work any more. relaxed: what others
  /// left there shows when the last reference is dropped. [A4] [A5]
  [[nodiscard]] bool is_last_reference() const noexcept { return references.load(sync::relaxed) == 1; }
  /// A hint: it is about to be retired, and try_reference() refuses. [A5]
  [[nodiscard]] bool is_without_reference() const noexcept { return references.load(sync::relaxed) == 0; }
  /// One more, for who has found the arena through the manager; false if it is about to be retired.
  [[nodiscard]] bool try_reference() noexcept {
    int now = references.load(sync::relaxed);
    while (now != 0) {
      if (references.compare_exchange_weak(now, now + 1, sync::relaxed, sync::relaxed)) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace homing::scheduler
