/// Whoever has the workers, as arenas know it: what may be hoped for, and what may be asked for. The resource manager.
///
/// Ownership: outlives every arena.
/// Threads:   any.
/// Protocols: docs/protocols/sleep.md [S2], arena.md [A6], [A9], [A14], [A15], [A22].
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/arena/arena_memory.hpp"
#include "runtime/arena/library_users.hpp"
#include "runtime/settings/scheduler_settings.hpp"
#include "runtime/task/indices.hpp"
#include "sync/atomic.hpp"
#include "sync/parker.hpp"

namespace homing::scheduler {

class arena;

/// What a caller does where all workers that may be made are being made: each may be refused by the system. [A25]
enum class turned_away : bool {
  waits,    ///< until that is known: somebody relies on the call
  gives_up  ///< its call is one more than there must be
};

/// What becomes of the workers when their last user has left. [A28]
enum class after_use : bool {
  workers_end,    ///< before long
  caller_decides  ///< it is about to end them, or not
};

class worker_supplier {
 public:
  worker_supplier(const worker_supplier&) = delete;
  worker_supplier& operator=(const worker_supplier&) = delete;

  [[nodiscard]] const scheduler_settings& settings() const noexcept { return settings_; }
  /// One thread a CPU that can be had now. [A19]
  [[nodiscard]] unsigned default_concurrency() const noexcept { return default_concurrency_.load(sync::relaxed); }

  [[nodiscard]] arena_memory& memory_of_arenas() noexcept { return memory_of_arenas_; }

  // ---- hints, for hot paths

  /// Workers that sleep, or could be made.
  [[nodiscard]] int available() const noexcept {
    return idle_.load(sync::relaxed) + (is_refused() ? 0 : could_make_.load(sync::relaxed));
  }
  /// True if some arena could use more workers than it was given, and there are others whose workers it could have.
  [[nodiscard]] bool unmet() const noexcept { return unmet_.load(sync::relaxed); }
  /// Workers that arenas may have: allowed, and not leased. With none, enqueued tasks still get one.
  [[nodiscard]] unsigned allottable_workers() const noexcept { return allottable_workers_.load(sync::relaxed); }
  /// [A15] The system has refused to make a thread, and is not to be asked again yet.
  [[nodiscard]] bool is_refused() const noexcept { return refused_.load(sync::relaxed); }
  /// [A25] The same, or the first worker is being made, and may be refused.
  [[nodiscard]] bool may_be_refused() const noexcept { return is_refused() || makes_first_.load(sync::relaxed); }
  /// [S19] Whether threads are being made still, and the newest of them make the others.
  [[nodiscard]] bool others_are_made() const noexcept {
    return will_make_others_.load(sync::relaxed) != 0 && could_make_.load(sync::relaxed) > 0 &&
           idle_.load(sync::relaxed) == 0;
  }
  /// [A15] For pushers: ends the refusal when its time is over, which is looked at now and then. True if it has ended.
  [[nodiscard]] bool refusal_has_ended() noexcept { return is_refused() && look_at_refusal(); }

  /// [A22] For a worker that looks for work in vain: an arena that has begun to want workers got none.
  [[nodiscard]] bool newcomer_waits() const noexcept { return unserved_.load(sync::relaxed); }

  /// [A27] For a worker that begins to look for work: others wait for the mandatory worker, and its turn is over.
  [[nodiscard]] bool mandatory_turn_is_over(std::int64_t now_ns) const noexcept {
    return now_ns > mandatory_turn_ends_ns_.load(sync::relaxed);
  }

  // ---- who uses the library: task_arena objects, and application threads with an arena of their own [A28]

  void add_user() noexcept { users_.add(); }
  void drop_user(after_use workers) noexcept {
    if (users_.drop() && workers == after_use::workers_end) {
      last_user_left();
    }
  }

  // ---- an arena's life

  virtual void link(arena& a) = 0;
  /// Deletes the arena, to which nobody refers any more; if work is left, keeps it for a worker and calls one.
  virtual void retire(arena& a) = 0;

  // ---- what an arena asks

  /// An arena began or ceased to want workers, or a limit changed: allots anew, now or by whoever holds the lock.
  virtual void demand_changed() noexcept = 0;
  /// As demand_changed(), for an arena that has begun to want workers. True if one of `home` has been called: the arena
  /// had a share that nobody has claimed meanwhile. [A14]
  virtual bool demand_rose(arena& a, domain_index home) noexcept = 0;
  /// [A22] If a newcomer waits: allots anew, on behalf of whoever calls first.
  virtual void serve_newcomers() noexcept = 0;
  /// [A27] Allots anew, on behalf of whoever calls first.
  virtual void end_mandatory_turn() noexcept = 0;
  /// Lists the arena, if it wants workers, for the next allotment. True if it was listed.
  virtual bool list_newcomer(arena& a) noexcept = 0;
  /// Wakes or makes a worker for the arena, of `home` if that is short of workers, else of one of the next domains, so
  /// many in all. False if none can come.
  virtual bool send_worker(arena& a, domain_index home, unsigned domains, turned_away patience) noexcept = 0;
  /// [S19] Makes a worker for the arena, near `home` if it can be, and none while some idle. Wakes one only for work
  /// that another caller may have left to this call. False if none has been sent.
  virtual bool make_worker(arena& a, domain_index home) noexcept = 0;
  /// [A15] For what was enqueued and has nobody: asks for a worker some times more.
  virtual void insist_on_worker(arena& a) noexcept = 0;
  /// Parks a thread that waits, or a worker; while no worker can be made it asks again from time to time. False if it
  /// came back for that alone. [A15]
  virtual bool park(sync::parker& p) noexcept = 0;

 protected:
  worker_supplier() : settings_(read_settings()), default_concurrency_(settings_.machine.default_concurrency()) {}
  ~worker_supplier() = default;

  virtual bool look_at_refusal() noexcept = 0;
  virtual void last_user_left() noexcept {}

  const scheduler_settings settings_;
  sync::atomic<unsigned> default_concurrency_;
  arena_memory memory_of_arenas_;
  library_users users_;
  alignas(sync::cache_line_bytes) sync::atomic<int> idle_{0};  ///< workers that sleep between arenas
  sync::atomic<int> could_make_{0};                            ///< workers that may be made yet; written under lock_
  sync::atomic<int> will_make_others_{0};                      ///< new workers that have not yet done so [S19]
  sync::atomic<unsigned> allottable_workers_{0};               ///< written under the manager's lock
  sync::atomic<bool> refused_{false};                          ///< no thread could be made [A15]
  sync::atomic<bool> makes_first_{false};                      ///< while there is no worker yet; written under lock_
  sync::atomic<bool> unmet_{false};
  // Each search reads these: a line that is seldom written.
  alignas(sync::cache_line_bytes) sync::atomic<bool> unserved_{false};  ///< of newcomers, since the last allotment
  static constexpr std::int64_t no_turn = std::numeric_limits<std::int64_t>::max();
  sync::atomic<std::int64_t> mandatory_turn_ends_ns_{no_turn};  ///< on platform::monotonic_ns()'s clock
};

}  // namespace homing::scheduler
