// The books of one construct: which of its items ran, how often, and whether any still runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "report.hpp"

namespace stress {

/// Counts the runs of `size` items. Every member may be called from any thread. All orders are
/// relaxed on purpose: the library must order an item before the end of its wait, and a race
/// detector can see that only if nothing here does.
class ledger {
 public:
  explicit ledger(std::size_t size) : size_(size), ran_(new std::atomic<std::uint8_t>[size]) {
    for (std::size_t i = 0; i < size; ++i) ran_[i].store(0, std::memory_order_relaxed);
  }

  ~ledger() {
    if (!quiet()) fail("a construct ended while its items were still running");
  }
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  /// While it lives, one item runs; fails when the item had run before.
  class entry {
   public:
    entry(ledger& books, std::size_t item) : books_(books) {
      books_.running_.fetch_add(1, std::memory_order_relaxed);
      if (item >= books_.size_) fail("an item that does not exist ran: " + std::to_string(item));
      if (books_.ran_[item].fetch_add(1, std::memory_order_relaxed) != 0) {
        fail("item " + std::to_string(item) + " of " + std::to_string(books_.size_) + " ran twice");
      }
      note_progress();
    }
    ~entry() { books_.running_.fetch_sub(1, std::memory_order_relaxed); }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

   private:
    ledger& books_;
  };

  /// The number of items that ran.
  [[nodiscard]] std::size_t ran() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size_; ++i) count += ran_[i].load(std::memory_order_relaxed);
    return count;
  }

  [[nodiscard]] bool complete() const { return ran() == size_; }
  [[nodiscard]] bool quiet() const { return running_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  const std::size_t size_;
  const std::unique_ptr<std::atomic<std::uint8_t>[]> ran_;
  std::atomic<int> running_{0};
};

}  // namespace stress
