/// Blocks of code as QEMU translates them, and their instructions decoded for the scoreboard when they first run.
///
/// Ownership: the store keeps every block for ever, once for the same code at the same address: QEMU may run a
///            translation at any time.
/// Threads:   find() and operations() by any.
/// Errors:    an instruction that the decoder does not know is one cycle that waits for nothing.
/// Source:    capstone, which decodes; docs/protocols/lab_model.md [LM10].
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "micro_op.hpp"

namespace homing::lab::model {

/// The instructions of `code`, whose sizes are `sizes`.
[[nodiscard]] std::vector<micro_op> decode(std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes);

class code_block;

/// An instruction: its block, and which it is there.
struct code_place {
  [[nodiscard]] std::uint64_t address() const noexcept;

  code_block* block;
  std::uint16_t index, offset;  // offset: in bytes from the block's beginning
  unsigned mark;                // the operation of a mark, 0 for other instructions
};

class code_block {
 public:
  code_block(std::uint64_t address, std::string code, std::vector<std::uint8_t> sizes);
  code_block(const code_block&) = delete;
  code_block& operator=(const code_block&) = delete;

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::size_t instructions() const noexcept { return sizes_.size(); }
  [[nodiscard]] bool ends_in_call() const noexcept { return ends_in_call_; }  // its last is a system call
  [[nodiscard]] const code_place& place(std::size_t index) const noexcept { return places_[index]; }
  /// As many as there are instructions. Decodes them at the first call.
  [[nodiscard]] const micro_op* operations() {
    // Acquire, with the store in decode_once(): who sees the pointer sees what it leads to.
    const micro_op* const ready = ready_.load(std::memory_order_acquire);
    return ready != nullptr ? ready : decode_once();
  }

 private:
  const micro_op* decode_once();

  std::uint64_t address_;
  std::string code_;
  std::vector<std::uint8_t> sizes_;
  std::vector<code_place> places_;
  bool ends_in_call_ = false;
  std::vector<micro_op> operations_;
  std::atomic<const micro_op*> ready_{nullptr};
};

inline std::uint64_t code_place::address() const noexcept { return block->address() + offset; }

class code_store {
 public:
  /// The block of this code at this address.
  code_block* find(std::uint64_t address, std::string code, std::vector<std::uint8_t> sizes);

 private:
  std::mutex lock_;
  std::map<std::pair<std::uint64_t, std::string>, std::unique_ptr<code_block>> blocks_;
};

}  // namespace homing::lab::model
