/// A thread's forks that nobody else has taken: an array of branches, private to the thread until somebody asks.
///
/// A fork is four stores, two loads and a compare; a join with which nobody has interfered is one store and two loads
/// with a compare each. There is no locked operation and no fence. `limit` is both the end of the array and the request
/// of threads that are out of work: who asks makes it 0, and the next push finds itself above it.
///
/// Ownership: the lane is its thread's for as long as the thread lives, the array the library's. A branch lies on the
///            stack of whoever forked it, until it has joined it.
/// Threads:   push() and try_pop() by the lane's thread. What others do is in the library.
/// Protocol:  docs/protocols/fork_lane.md, labels [F1] to [F10].
/// Source:    Frigo, Leiserson, Randall 1998 (Cilk's THE: thief and owner meet at two indices); van Dijk and van de Pol
///            2014 (Lace: the poll is the overflow check, and nothing is shared until somebody asks).
#pragma once

#include <homing/detail/light_fence.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace homing::detail {

/// Part of a fork that another thread may take: what to run, and what became of it.
struct fork_branch {
  enum class fate : std::uint32_t {
    kept,    ///< nobody else has it, or had: its owner runs it
    given,   ///< a task runs it, and then says what became of it
    done,    ///< it has run
    threw,   ///< it has run, and left an exception
    skipped  ///< its group was cancelled before it began, or its owner had no more use for it
  };
  /// On whatever thread; stores what it returns or throws, and sets `end`. `cancelled`: it need not run.
  using runner = void (*)(fork_branch& self, bool cancelled) noexcept;

  explicit fork_branch(runner r) noexcept : run(r) {}
  fork_branch(const fork_branch&) = delete;
  fork_branch& operator=(const fork_branch&) = delete;

  std::atomic<runner> run;  ///< null once it is in no lane any more
  // Not initialized while it lies in a lane: most branches are never given.
  fate end;                       ///< once `wait` is empty
  std::uint32_t unwanted;         ///< not 0: if it has not begun it need not; by atomic_ref
  alignas(8) std::byte wait[16];  ///< a d1::wait_context
};

struct fork_lane;

/// Its owner throws: if the branch has been given and has not begun, it need not. For what has been given, or has its
/// place in a lane still, where it says nothing.
inline void set_unwanted(fork_branch& b) noexcept {
  // relaxed: a hint; the branch and its owner meet at the join.
  std::atomic_ref<std::uint32_t>(b.unwanted).store(1, std::memory_order_relaxed);
}
[[nodiscard]] inline bool is_unwanted(fork_branch& b) noexcept {
  return std::atomic_ref<std::uint32_t>(b.unwanted).load(std::memory_order_relaxed) != 0;
}

/// What the library does when push() and try_pop() have said that they can't do without it.
struct fork_calls {
  /// After a push. False: the group of the running task is cancelled, so that nothing more need begin.
  bool (*pushed)(fork_lane& lane) noexcept;
  /// Waits for the youngest branch if it has been given. True: it has not run, and the caller runs it. `lane` and `at`
  /// are those of its push.
  bool (*join)(fork_lane& lane, std::size_t at, fork_branch& branch) noexcept;
  /// Gives a branch that was never pushed to a domain, or to anybody if that is not one.
  void (*give)(fork_branch& branch, std::uint32_t domain) noexcept;
  /// Whether the group of the running task is cancelled.
  bool (*is_cancelled)() noexcept;
};

struct alignas(128) fork_lane {
  std::atomic<std::size_t> bottom{0};  ///< behind the youngest
  std::atomic<std::size_t> top{0};     ///< the oldest that is private; those below have been given
  std::atomic<std::size_t> limit{0};   ///< a push that ends above it must call the library
  fork_branch** slots = nullptr;       ///< one more than the limit ever allows
  const fork_calls* calls = nullptr;
  // [F10] Hints for thieves, of whoever forks where the lane has nothing. On a line of their own: who may not ask yet
  // looks at nothing that each fork writes.
  /// By the steady clock: when work began that may well be short; 0: not known.
  alignas(64) std::atomic<std::int64_t> began_ns{0};
  std::atomic<std::uint32_t> home{no_home};  ///< the domain where the branches' data is
  static constexpr std::uint32_t no_home = ~std::uint32_t{0};

  /// Owner. Whether a branch has its place here, private or given.
  [[nodiscard]] bool has_forks() const noexcept { return bottom.load(std::memory_order_relaxed) != 0; }
  /// Owner. Puts the branch on top, at `at`. False if calls->pushed() must follow.
  [[nodiscard, gnu::always_inline]] bool push(fork_branch& b, std::size_t& at) noexcept {
    at = bottom.load(std::memory_order_relaxed);
    slots[at] = &b;
    // [F1] release: the branch, to a thief's acquire in F4. Before the look at the limit; partner F6.
    bottom.store(at + 1, std::memory_order_release);
    light_fence();
    // relaxed: an ask publishes nothing; a cancellation is read behind the exchange of F5.
    return at + 1 <= limit.load(std::memory_order_relaxed);
  }

  /// Owner, on the youngest that it has not popped. True if it has the branch back; false if calls->join() must follow.
  [[nodiscard, gnu::always_inline]] bool try_pop(const fork_branch& b, std::size_t at) noexcept {
    // relaxed: a thief's null may come late, and then top tells [F3]. One that gave it itself finds null, also if its
    // stack has moved to another thread meanwhile, and this lane is not that thread's [F7].
    if (b.run.load(std::memory_order_relaxed) == nullptr) {
      return false;
    }
    bottom.store(at, std::memory_order_relaxed);
    light_fence();  // [F2] bottom, before the look at top; partner F4 (top, then bottom)
    // acquire: a thief that has refused the branch has read what the owner may change now.
    return top.load(std::memory_order_acquire) <= at;
  }

  /// Whether somebody wants the owner's attention; a hint.
  [[nodiscard, gnu::always_inline]] bool is_asked() const noexcept {
    return limit.load(std::memory_order_relaxed) == 0;
  }
};

}  // namespace homing::detail
