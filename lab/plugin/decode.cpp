#include "decode.hpp"

#include "instruction_set.hpp"

namespace homing::lab::model {
namespace {

std::mutex decoding;  // capstone's handles and the blocks that are being decoded

}  // namespace

std::vector<micro_op> decode(std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes) {
  std::vector<micro_op> result;
  result.reserve(sizes.size());
  std::size_t at = 0;
  for (const std::uint8_t size : sizes) {
    result.push_back(guest_instructions().decode(code.subspan(at, size)));
    at += size;
  }
  return result;
}

code_block::code_block(std::uint64_t address, std::string code, std::vector<std::uint8_t> sizes)
    : address_(address), code_(std::move(code)), sizes_(std::move(sizes)) {
  std::span<const std::uint8_t> left{reinterpret_cast<const std::uint8_t*>(code_.data()), code_.size()};
  for (const std::uint8_t size : sizes_) {
    const auto instruction = left.first(size);
    places_.push_back({this, static_cast<std::uint16_t>(places_.size()),
                       static_cast<std::uint16_t>(code_.size() - left.size()),
                       guest_instructions().mark_of(instruction).value_or(0)});
    ends_in_call_ = guest_instructions().is_system_call(instruction);
    left = left.subspan(size);
  }
}

const micro_op* code_block::decode_once() {
  const std::lock_guard guard(decoding);
  if (operations_.empty()) {
    operations_ = decode({reinterpret_cast<const std::uint8_t*>(code_.data()), code_.size()}, sizes_);
    ready_.store(operations_.data(), std::memory_order_release);  // with the load in operations()
  }
  return operations_.data();
}

code_block* code_store::find(std::uint64_t address, std::string code, std::vector<std::uint8_t> sizes) {
  const std::lock_guard guard(lock_);
  std::unique_ptr<code_block>& block = blocks_[{address, code}];
  if (!block) block = std::make_unique<code_block>(address, std::move(code), std::move(sizes));
  return block.get();
}

}  // namespace homing::lab::model
