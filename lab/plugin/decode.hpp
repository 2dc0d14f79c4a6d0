/// Blocks of code as QEMU translates them, their instructions decoded for the scoreboard.
///
/// Ownership: the store keeps every block for ever, once for the same code at the same address: QEMU may run a
///            translation at any time.
/// Threads:   find() by any; a block never changes.
/// Errors:    an instruction that the decoder does not know is one cycle that waits for nothing.
/// Source:    capstone, which decodes; docs/protocols/lab_model.md [LM10].
#pragma once

#include <cstdint>
#include <memory>
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
  [[nodiscard]] std::uint64_t address() const noexcept;

  std::uint8_t mark = 0;                // the operation of a mark, 0 for other instructions
  std::uint16_t index = 0, offset = 0;  // offset: in bytes from the block's beginning
  code_block* block = nullptr;
};

class code_block {
 public:
  code_block(std::uint64_t address, std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes);
  code_block(const code_block&) = delete;
  code_block& operator=(const code_block&) = delete;

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::size_t instructions() const noexcept { return size_; }
  [[nodiscard]] bool ends_in_call() const noexcept { return ends_in_call_; }  // its last is a system call
  [[nodiscard]] bool pauses() const noexcept { return pauses_; }  // has an instruction that is for loops that wait
  [[nodiscard]] const code_place* places() const noexcept { return places_.get(); }

 private:
  std::uint64_t address_;
  std::uint32_t size_;
  bool ends_in_call_ = false, pauses_ = false;
  std::unique_ptr<code_place[]> places_;
};

inline std::uint64_t code_place::address() const noexcept { return block->address() + offset; }

class code_store {
 public:
  /// The block of this code at this address.
  code_block* find(std::uint64_t address, std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes);

 private:
  std::mutex lock_;
  std::unordered_map<std::string, std::unique_ptr<code_block>> blocks_;  // by address and code
};

}  // namespace homing::lab::model
