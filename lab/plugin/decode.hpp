/// Blocks of code as QEMU translates them, their instructions decoded for the scoreboard.
///
/// Ownership: the store keeps every block for ever, once for the same code at the same address: QEMU may run a
///            translation at any time.
/// Threads:   find() by any; a block never changes.
/// Errors:    an instruction that the decoder does not know is one cycle that waits for nothing.
/// Source:    capstone, which decodes; docs/protocols/lab_model.md [LM10].
#pragma once

#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "micro_op.hpp"

namespace homing::lab::model {

/// The instructions of `code`, whose sizes are `sizes`.
[[nodiscard]] std::vector<micro_op> decode(std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes);

class code_block;

/// An instruction, with where it is: all that an access needs to know of it lies together.
struct code_place : micro_op {
  [[nodiscard]] const code_block& block() const noexcept;
  [[nodiscard]] std::uint64_t address() const noexcept;

  std::uint8_t mark = 0;                // the operation of a mark, 0 for other instructions
  std::uint16_t index = 0, offset = 0;  // offset: in bytes from the block's beginning
};

/// A block's instructions lie behind it, in as few of the host's cache lines as may be: most code of a guest is run
/// once in a while, and what it costs the host then are misses.
class code_block {
 public:
  /// In `memory`, which frees nothing: a block has nothing to destroy.
  [[nodiscard]] static const code_block& make(std::pmr::memory_resource& memory, std::uint64_t address,
                                              std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes);
  code_block(const code_block&) = delete;
  code_block& operator=(const code_block&) = delete;

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::size_t instructions() const noexcept { return size_; }
  [[nodiscard]] bool ends_in_call() const noexcept { return ends_in_call_; }  // its last is a system call
  [[nodiscard]] bool returns() const noexcept { return returns_; }            // its last returns from an interrupt
  /// The kernel was entered here from the program without a system call. Relaxed: who learns it late takes one
  /// interrupt's time.
  [[nodiscard]] bool is_entry() const noexcept { return is_entry_.load(std::memory_order_relaxed); }
  void enter() const noexcept {
    if (!is_entry()) is_entry_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool pauses() const noexcept { return pauses_; }  // has an instruction that is for loops that wait
  [[nodiscard]] const code_place* places() const noexcept { return reinterpret_cast<const code_place*>(this + 1); }
  /// Its first eleven instructions, which few blocks exceed.
  void prefetch() const noexcept {
    for (unsigned line = 0; line != 3; ++line) __builtin_prefetch(reinterpret_cast<const char*>(this) + 64 * line);
  }

 private:
  code_block(std::uint64_t address, std::size_t size) : address_(address), size_(static_cast<std::uint32_t>(size)) {}

  std::uint64_t address_;
  std::uint32_t size_;
  bool ends_in_call_ = false, pauses_ = false, returns_ = false;
  mutable std::atomic<bool> is_entry_{false};
};
static_assert(sizeof(code_place) == 16 && sizeof(code_block) == 16, "four of them to a line");

inline const code_block& code_place::block() const noexcept {
  return *(reinterpret_cast<const code_block*>(this - index) - 1);
}
inline std::uint64_t code_place::address() const noexcept { return block().address() + offset; }

/// Memory that the host's kernel is asked to map in large pages: blocks lie far apart in time, and each has little.
class huge_pages : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

class code_store {
 public:
  /// The block of this code at this address.
  const code_block* find(std::uint64_t address, std::span<const std::uint8_t> code,
                         std::span<const std::uint8_t> sizes);

 private:
  static constexpr std::size_t chunk_bytes = 4U << 20;

  std::mutex lock_;
  huge_pages pages_;
  std::pmr::monotonic_buffer_resource memory_{chunk_bytes, &pages_};
  std::unordered_map<std::string, const code_block*> blocks_;  // by address and code
};

}  // namespace homing::lab::model
