/// One execution of a model: its threads, each a fiber, and which of them goes on at each point.
///
/// A thread runs until its next operation that others could order differently. There the record of choices says who
/// goes on. Stores and fences that are not seq_cst are no such points: what reads them may come later or earlier all
/// the same.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>

#include "engine/memory.hpp"
#include "engine/trace.hpp"
#include "platform/stack_switch.hpp"

namespace homing::model {

/// What an atomic or a marked variable knows of itself; zero bytes mean that it is older than the execution.
struct identity {
  std::uint32_t execution = 0;
  std::uint32_t made_at = 0;  ///< by its maker's clock
  std::uint16_t where = unknown;
  std::uint16_t maker = 0;

  static constexpr std::uint16_t unknown = 0;  ///< else the location's index + 1
  static constexpr std::uint16_t destroyed = 0xFFFF;
};

/// The accesses to a variable that is not atomic, for the search of data races.
struct accesses {
  const void* self = nullptr;  ///< where it is: memory that held something else says otherwise
  std::uint32_t execution = 0;
  std::uint32_t written_at = 0;
  std::uint32_t writer = 0;
  std::array<std::uint32_t, threads_max> read_at{};
};

struct limits {
  unsigned preemptions = ~0U;  ///< times that a thread that could go on is left for another
  unsigned spurious = 1;       ///< returns of a futex wait, and failures of a weak compare-exchange, for no reason
  unsigned stale = ~0U;        ///< loads that see another store than the newest, stores put before another
  unsigned steps = 2'000;      ///< more in one execution is taken for a livelock
};

/// The states that were met, so that none is gone into twice.
class seen_states {
 public:
  virtual ~seen_states() = default;
  /// True if the state was met before with as many preemptions left.
  virtual bool met(std::uint64_t state, unsigned preemptions) = 0;
};

class execution {
 public:
  enum class ending : std::uint8_t { complete, redundant, failed };

  execution(choices& decide, seen_states& seen, const limits& bounds);

  /// Runs `body` as the first thread, to its end or to the first fault.
  ending run(void (*body)());
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] const trace& events() const noexcept { return trace_; }
  [[nodiscard]] const list<std::int64_t>& outcome() const noexcept { return outcome_; }

  // --- for models ---------------------------------------------------------------------------------------------------
  void spawn(std::function<void()> body);
  void join_all();
  /// Waits until each of the others has ended or sleeps, and nobody is left who would wake it. Knows of all they did.
  void settle();
  void set_outcome(std::initializer_list<std::int64_t> values) { outcome_.assign(values); }
  [[noreturn]] void fail(std::string what);

  // --- for atomics and the other doors -------------------------------------------------------------------------------
  void made(identity& who) noexcept;
  void destroyed(identity& who, const std::source_location& at);
  std::uint64_t load(identity& who, const void* address, std::uint64_t initial, order o,
                     const std::source_location& at);
  void store(identity& who, const void* address, std::uint64_t initial, std::uint64_t value, order o,
             const std::source_location& at);
  /// `update` as in memory::update(); true if it wrote.
  template <typename Update>
  std::uint64_t update(identity& who, const void* address, std::uint64_t initial, order o, order failure,
                       const std::source_location& at, Update&& how) {
    const location_index where = begin_access(who, address, initial, true, at);
    const std::uint64_t read = memory_.update(self().knows, current_, where, o, failure, how);
    end_update(where, read, o, failure, how, at);
    return read;
  }
  [[nodiscard]] bool fails_spuriously();
  void fence(order o, const std::source_location& at);
  void light_fence(const std::source_location& at);
  void heavy_fence(const std::source_location& at);
  /// What membarrier does: all threads pass a full fence between two of their operations.
  void interrupt_all(const std::source_location& at);
  void pause();
  void futex_wait(identity& who, const void* address, std::uint64_t initial, std::uint32_t expected, bool timed);
  void futex_wake(const void* address, std::uint32_t count);
  /// The clock stands still but for this.
  void set_time(std::int64_t now_ns);
  [[nodiscard]] std::int64_t time();
  void lock(const void* mutex);
  bool try_lock(const void* mutex);
  void unlock(const void* mutex);
  void read(accesses& of, const std::source_location& at);
  void written(accesses& of, const std::source_location& at);

  [[nodiscard]] thread_index current() const noexcept { return current_; }

 private:
  enum class state : std::uint8_t {
    none,
    fresh,
    ready,
    yielding,
    paused,
    on_futex,
    on_timed_futex,
    on_mutex,
    joining,
    settling,
    finished
  };
  struct seen_value {
    location_index where;
    std::uint64_t value;
    friend bool operator==(const seen_value&, const seen_value&) = default;
  };
  struct thread {
    platform::stack_memory stack;
    platform::stack_context context;
    const std::function<void()>* body = nullptr;  ///< in the model's own memory, which is never given back
    knowledge knows;
    state is = state::none;
    bool has_begun = false;       ///< with its first operation
    bool saw_change = false;      ///< two values of one location, in `looked`: the next round of a loop sees the second
    bool fails_for_none = false;  ///< since its last pause: the loop that it is in may end though nothing changes
    const void* waits_for = nullptr;
    list<seen_value> looked;         ///< since its last store or pause: what a spinning loop depends on
    list<seen_value> looked_before;  ///< the same, before its last pause
    std::source_location at;
  };
  struct kernel_word {
    const void* address;
    view woken;  ///< what those who have woken sleepers of this word knew of it
  };
  struct held_mutex {
    const void* address;
    bool is_held = false;
    view seen;
    clock sync;
    std::uint64_t last = 0;
  };

  [[nodiscard]] thread& self() noexcept { return threads_[current_]; }
  static void main_of(void* raw);
  thread& start(const std::function<void()>* body);
  void finish() noexcept;
  [[noreturn]] void end(ending how);
  location_index locate(identity& who, const void* address, std::uint64_t initial, const std::source_location& at);
  location_index begin_access(identity& who, const void* address, std::uint64_t initial, bool is_point,
                              const std::source_location& at);
  template <typename Update>
  void end_update(location_index where, std::uint64_t read, order o, order failure, Update&& how,
                  const std::source_location& at) {
    std::uint64_t value = read;
    const bool wrote = how(value);
    note_update(where, read, value, wrote, wrote ? o : failure, at);
  }
  void note_update(location_index where, std::uint64_t read, std::uint64_t value, bool wrote, order o,
                   const std::source_location& at);
  void looked_at(location_index where, std::uint64_t value);
  void forget_looks() noexcept;
  bool take(const void* mutex);
  void know_all() noexcept;
  [[nodiscard]] bool is_over() const noexcept;
  void tick();
  void point();
  void hand_over();
  bool run_to_first_point();
  void switch_to(thread_index next);
  [[nodiscard]] bool can_run(const thread& t) const noexcept;
  [[nodiscard]] std::uint64_t hash() const noexcept;
  [[nodiscard]] std::string who_waits() const;
  kernel_word& word_at(const void* address);
  held_mutex& mutex_at(const void* address);

  choices& decide_;
  seen_states& seen_;
  const limits bounds_;
  memory memory_;
  trace trace_;
  std::array<thread, threads_max> threads_;
  std::size_t count_ = 0;
  thread_index current_ = 0;
  std::uint32_t number_ = 0;
  unsigned steps_ = 0;
  unsigned preemptions_ = 0;
  unsigned spurious_ = 0;
  std::int64_t now_ns_ = 0;
  bool settled_ = false;  ///< whoever sleeps at the end may sleep on
  platform::stack_context home_;
  ending ended_ = ending::complete;
  std::string failure_;
  list<kernel_word> words_;
  list<held_mutex> mutexes_;
  list<std::int64_t> outcome_;
};

/// Of the scenario that is running: settings::relies_on_x86.
inline bool exchange_is_fence = false;

/// The execution that is running, or null.
extern execution* running;

}  // namespace homing::model
