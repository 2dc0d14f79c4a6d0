#include "decode.hpp"

#include "instruction_set.hpp"

namespace homing::lab::model {

std::vector<micro_op> decode(std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes) {
  static std::mutex decoding;
  // Most instructions of a program are ones that were seen before. Never destroyed: QEMU's CPUs run until the process
  // ends.
  static auto* const known = new std::unordered_map<std::string, micro_op>;
  const std::lock_guard guard(decoding);
  std::vector<micro_op> result;
  result.reserve(sizes.size());
  std::size_t at = 0;
  for (const std::uint8_t size : sizes) {
    const auto one = code.subspan(at, size);
    const auto [place, is_new] = known->try_emplace(std::string(one.begin(), one.end()));
    if (is_new) place->second = guest_instructions().decode(one);
    result.push_back(place->second);
    at += size;
  }
  return result;
}

code_block::code_block(std::uint64_t address, std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes)
    : address_(address),
      size_(static_cast<std::uint32_t>(sizes.size())),
      places_(std::make_unique<code_place[]>(sizes.size())) {
  const std::vector<micro_op> operations = decode(code, sizes);
  const instruction_set& known = guest_instructions();
  std::uint16_t offset = 0;
  for (std::size_t i = 0; i != sizes.size(); ++i) {
    const auto instruction = code.subspan(offset, sizes[i]);
    code_place& place = places_[i];
    static_cast<micro_op&>(place) = operations[i];
    place.mark = static_cast<std::uint8_t>(known.mark_of(instruction).value_or(0));
    place.index = static_cast<std::uint16_t>(i);
    place.offset = offset;
    place.block = this;
    pauses_ |= place.kind == op_kind::pause;
    ends_in_call_ = known.is_system_call(instruction);
    offset = static_cast<std::uint16_t>(offset + sizes[i]);
  }
}

code_block* code_store::find(std::uint64_t address, std::span<const std::uint8_t> code,
                             std::span<const std::uint8_t> sizes) {
  std::string name(reinterpret_cast<const char*>(&address), sizeof address);
  name.append(code.begin(), code.end());
  const std::lock_guard guard(lock_);
  std::unique_ptr<code_block>& block = blocks_[std::move(name)];
  if (!block) block = std::make_unique<code_block>(address, code, sizes);
  return block.get();
}

}  // namespace homing::lab::model
