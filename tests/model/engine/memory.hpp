/// The memory of one execution under C++20's memory model: what a load may see, and what that tells its thread.
///
/// Each location has its stores in modification order. A store gets a place in it when it is executed: anywhere behind
/// what its thread knows of, so that the order of execution decides nothing. Each store carries the view and the clock
/// that an acquiring reader gets. docs/design/0008-the-model-checker.md has the rules and their sources.
///
/// Errors: a model that needs more locations or stores than there is room for makes is_exhausted() true.
#pragma once

#include "engine/choices.hpp"
#include "engine/types.hpp"

namespace homing::model {

enum class order : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };

[[nodiscard]] constexpr bool acquires(order o) noexcept {
  return o == order::acquire || o == order::acq_rel || o == order::seq_cst;
}
[[nodiscard]] constexpr bool releases(order o) noexcept {
  return o == order::release || o == order::acq_rel || o == order::seq_cst;
}

struct store {
  std::uint64_t value = 0;
  view seen;                    ///< what whoever acquires it knows of
  clock sync;                   ///< what happens before such a reader goes on
  std::uint64_t id = 0;         ///< the same in every execution in which its thread came here with the same past
  std::uint64_t seen_hash = 0;  ///< of `seen`
  std::uint32_t step = 0;       ///< its line in the trace
  store_index rank = 0;
  bool is_update = false;   ///< of a read-modify-write: nothing comes between it and what it has read
  bool is_updated = false;  ///< a read-modify-write has read it
};

struct location {
  const void* address = nullptr;
  std::uint64_t key = 0;                             ///< the same in every execution
  list<store> stores;                                ///< in the order of execution; the first is the initial value
  list<store_index> modification;                    ///< in modification order
  mutable std::uint64_t hashed = 0;                  ///< of all of this, unless 0
  std::array<std::uint32_t, threads_max> used_at{};  ///< each thread's last access, by its own clock
};

/// What one thread knows of memory.
struct knowledge {
  view now;       ///< may not read anything older
  view acquired;  ///< what an acquire fence would add
  view released;  ///< as of the last release fence
  clock at;
  clock acquired_at;
  clock released_at;
  std::uint64_t history = 0;  ///< hash of all that it has done and read: its local state
};

class memory {
 public:
  explicit memory(choices& decide) noexcept : decide_(decide) {}

  /// `stale_max`: so often a load may see another store than the newest, or a store be put before another.
  void begin(unsigned stale_max) noexcept;
  /// How often that may happen yet.
  [[nodiscard]] unsigned stale_left() const noexcept { return stale_left_; }
  /// The number of the operation that comes next, for traces.
  void set_step(std::uint32_t step) noexcept { step_ = step; }

  /// A location whose initial value every thread knows.
  location_index add(const void* address, std::uint64_t value, std::uint64_t key);

  std::uint64_t load(knowledge& me, location_index where, order o);
  void write(knowledge& me, thread_index self, location_index where, std::uint64_t value, order o);

  /// A read-modify-write. `update` is given what was read and changes it to what is written; false: nothing is (only a
  /// compare-exchange does that, and then `failure` is the order of the load).
  template <typename Update>
  std::uint64_t update(knowledge& me, thread_index self, location_index where, order o, order failure,
                       Update&& update) {
    const store_index ordered = floor_of(me, where, true);
    const unsigned count = candidates(where, floor_of(me, where, false), [&](const store& s) {
      std::uint64_t value = s.value;
      const bool writes = update(value);
      return !(writes && s.is_updated) && (s.rank >= ordered || (writes ? o : failure) != order::seq_cst);
    });
    const store_index from = candidate(choose(count));
    std::uint64_t value = locations_[where].stores[from].value;
    const std::uint64_t read = value;
    if (update(value)) {
      finish_update(me, self, where, from, value, o);
    } else {
      note_read(me, where, from, failure);
    }
    return read;
  }

  void fence(knowledge& me, order o) noexcept;
  /// The asymmetric pair: a light fence is a seq_cst fence as seen from heavy ones only, a heavy one as seen from all.
  void light_fence(knowledge& me) noexcept;
  void heavy_fence(knowledge& me) noexcept;

  /// A relaxed load that sees what `floor` knows of, too: the kernel's look at a futex.
  std::uint64_t load_from(knowledge& me, location_index where, const view& floor);
  void join(view& into, const view& from) noexcept;

  /// True if a store that may still be seen has another value: a thread that spins may go on.
  [[nodiscard]] bool has_news(const view& known, location_index where, std::uint64_t value) const noexcept;

  [[nodiscard]] location& at(location_index where) noexcept { return locations_[where]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] bool is_exhausted() const noexcept { return exhausted_; }

  [[nodiscard]] std::uint64_t hash(const view& v) const noexcept;
  /// All that can decide about the future but the threads.
  [[nodiscard]] std::uint64_t hash() const noexcept;

  /// Of the last load or update: the store that it read.
  [[nodiscard]] const store& last_read() const noexcept { return locations_[last_where_].stores[last_from_]; }

 private:
  [[nodiscard]] store_index rank(location_index where, store_index s) const noexcept {
    return locations_[where].stores[s].rank;
  }
  [[nodiscard]] store_index floor_of(const knowledge& me, location_index where, bool is_sc) const noexcept;
  void seal(location_index where, store_index s) noexcept;
  store_index place(location_index where, std::size_t rank, store s);
  void raise(view& v, location_index where, store_index s) noexcept;
  void note_read(knowledge& me, location_index where, store_index from, order o) noexcept;
  void finish_update(knowledge& me, thread_index self, location_index where, store_index from, std::uint64_t value,
                     order o);

  /// Stores from the newest down to `floor` that a read may see; their number.
  template <typename May>
  unsigned candidates(location_index where, store_index floor, May&& may) noexcept {
    const location& l = locations_[where];
    candidates_ = 0;
    for (std::size_t r = l.modification.size(); r-- > floor;) {
      if (may(l.stores[l.modification[r]])) {
        candidate_[candidates_++] = l.modification[r];
      }
    }
    return candidates_;
  }
  [[nodiscard]] store_index candidate(unsigned i) const noexcept { return candidate_[i]; }
  /// One of so many candidates; the first is the newest, and all that is left when the bound is reached.
  [[nodiscard]] unsigned choose(unsigned count) {
    const unsigned chosen = decide_.take(stale_left_ == 0 ? 1 : count);
    if (chosen != 0 && stale_left_ != ~0U) {
      --stale_left_;
    }
    return chosen;
  }

  choices& decide_;
  std::array<location, locations_max> locations_;
  std::size_t count_ = 0;
  std::uint32_t step_ = 0;
  bool exhausted_ = false;
  unsigned stale_left_ = ~0U;
  view sc_;     ///< S: what was before the last seq_cst operation, location by location
  view heavy_;  ///< what was before the last heavy fence
  view light_;  ///< what was before some light fence
  std::array<store_index, stores_max + 1> candidate_{};
  unsigned candidates_ = 0;
  location_index last_where_ = 0;
  store_index last_from_ = 0;
};

}  // namespace homing::model
