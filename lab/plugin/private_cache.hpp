/// The cache nearest to a core, set-associative, the least recently used line leaves. Lines are physical line numbers.
///
/// Ownership: a line is *writable* if no other cache has it, and *dirty* if it was written since it came.
/// Threads:   find(), touch(), insert(), mark_dirty() by the core's own CPUs; invalidate() and share() by any. A slot
///            is one word that changes by compare-and-exchange, so that a hit needs no lock. Two CPUs of one core may
///            replace the same slot at once; the loser's line is then not in the cache, which costs it another miss.
/// Errors:    none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "machine.hpp"

namespace homing::lab::model {

/// How a set is found from a line: by a mask where the number of sets is a power of two.
class set_index {
 public:
  explicit set_index(std::uint64_t sets) : sets_(sets), mask_((sets & (sets - 1)) == 0 ? sets - 1 : 0) {}
  [[nodiscard]] std::uint64_t operator()(std::uint64_t line) const { return mask_ != 0 ? line & mask_ : line % sets_; }

 private:
  std::uint64_t sets_, mask_;
};

class private_cache {
 public:
  enum class permission : std::uint8_t { shared, writable };
  /// A slot that holds a line: word and place. `at` is null for a miss.
  struct found {
    std::atomic<std::uint64_t>* at = nullptr;
    std::uint64_t word = 0;
    [[nodiscard]] explicit operator bool() const { return at != nullptr; }
    [[nodiscard]] bool writable() const { return (word & writable_bit) != 0; }
    [[nodiscard]] bool dirty() const { return (word & dirty_bit) != 0; }
    [[nodiscard]] bool fought() const { return (word & fought_bit) != 0; }
  };
  /// The line that had to leave; `present` is false if a slot was free.
  struct victim {
    bool present = false, dirty = false;
    std::uint64_t line = 0;
  };

  explicit private_cache(const cache_shape& shape)
      : ways_(shape.ways),
        set_of_(shape.sets()),
        words_(new std::atomic<std::uint64_t>[shape.sets() * shape.ways] {}),
        ages_(new std::atomic<std::uint32_t>[shape.sets() * shape.ways] {}) {}

  [[nodiscard]] found find(std::uint64_t line) const noexcept {
    const std::uint64_t first = set_of_(line) * ways_, name = name_of(line);
    for (unsigned i = 0; i != ways_; ++i) {
      // Relaxed: the directory's lock orders what must be; a word that is just being taken away may be hit once more.
      const std::uint64_t word = words_[first + i].load(std::memory_order_relaxed);
      if ((word & name_mask) == name) return {&words_[first + i], word};
    }
    return {};
  }
  /// The same, where `before` is a slot that held the line once, or null: the set is searched if it no longer does.
  [[nodiscard]] found find(std::uint64_t line, std::atomic<std::uint64_t>* before) const noexcept {
    if (before != nullptr) {
      const std::uint64_t word = before->load(std::memory_order_relaxed);
      if ((word & name_mask) == name_of(line)) return {before, word};
    }
    return find(line);
  }
  /// Makes a line the youngest of its set.
  void touch(const found& f) noexcept { age_of(*f.at).store(next_age(), std::memory_order_relaxed); }

  /// A write into a writable line. Returns false if the line has just been taken away.
  bool mark_dirty(const found& f) noexcept {
    std::uint64_t expected = f.word;
    // Relaxed, as all of a slot: one word, and the directory decides who may write.
    return f.dirty() || f.at->compare_exchange_strong(expected, f.word | dirty_bit, std::memory_order_relaxed);
  }
  /// Puts a line in, or changes the permission and state of one that is here.
  /// `fought`: others want it, too, so that a hit has to come in its turn [LM11].
  victim insert(std::uint64_t line, permission may, bool dirty, bool fought = false) noexcept {
    const std::uint64_t word = name_of(line) | (may == permission::writable ? writable_bit : 0) |
                               (dirty ? dirty_bit : 0) | (fought ? fought_bit : 0);
    if (const found f = find(line)) {
      f.at->store(word, std::memory_order_relaxed);
      touch(f);
      return {};
    }
    const std::uint64_t first = set_of_(line) * ways_;
    unsigned oldest = 0;
    std::uint32_t oldest_age = 0;
    const std::uint32_t now = clock_.load(std::memory_order_relaxed);
    for (unsigned i = 0; i != ways_; ++i) {
      if (words_[first + i].load(std::memory_order_relaxed) == 0) {
        oldest = i;
        break;
      }
      const std::uint32_t age = now - ages_[first + i].load(std::memory_order_relaxed);
      if (i == 0 || age > oldest_age) oldest = i, oldest_age = age;
    }
    const std::uint64_t old = words_[first + oldest].exchange(word, std::memory_order_relaxed);
    ages_[first + oldest].store(next_age(), std::memory_order_relaxed);
    return {old != 0, (old & dirty_bit) != 0, (old >> name_shift) - 1};
  }
  /// Takes a line away. Returns true if it was dirty.
  bool invalidate(std::uint64_t line) noexcept { return change(line, 0); }
  /// Lets others read it too. Returns true if it was dirty; it is clean afterwards.
  bool share(std::uint64_t line) noexcept { return change(line, name_of(line)); }

 private:
  static constexpr unsigned name_shift = 3;
  static constexpr std::uint64_t writable_bit = 1, dirty_bit = 2, fought_bit = 4, name_mask = ~std::uint64_t{7};
  static std::uint64_t name_of(std::uint64_t line) noexcept { return (line + 1) << name_shift; }  // 0: an empty slot

  std::atomic<std::uint32_t>& age_of(const std::atomic<std::uint64_t>& word) noexcept {
    return ages_[static_cast<std::uint64_t>(&word - words_.get())];
  }
  std::uint32_t next_age() noexcept {
    const std::uint32_t age = clock_.load(std::memory_order_relaxed) + 1;
    clock_.store(age, std::memory_order_relaxed);
    return age;
  }
  bool change(std::uint64_t line, std::uint64_t to) noexcept {
    const found f = find(line);
    if (!f) return false;
    std::uint64_t word = f.word;
    while ((word & name_mask) == name_of(line)) {
      if (f.at->compare_exchange_weak(word, to, std::memory_order_relaxed)) return (word & dirty_bit) != 0;
    }
    return false;
  }

  std::uint64_t ways_;
  set_index set_of_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> ages_;
  std::atomic<std::uint32_t> clock_{0};
};

}  // namespace homing::lab::model
