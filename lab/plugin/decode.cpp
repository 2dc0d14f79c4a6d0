#include "decode.hpp"

#include <algorithm>
#include <new>

#include "host_pages.hpp"
#include "instruction_set.hpp"

namespace homing::lab::model {
namespace {

constexpr std::size_t host_line_bytes = 64;

}  // namespace

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

const code_block& code_block::make(std::pmr::memory_resource& memory, std::uint64_t address,
                                   std::span<const std::uint8_t> code, std::span<const std::uint8_t> sizes) {
  void* const place_of = memory.allocate(sizeof(code_block) + sizes.size() * sizeof(code_place), host_line_bytes);
  auto* const made = new (place_of) code_block(address, sizes.size());
  const std::vector<micro_op> operations = decode(code, sizes);
  const instruction_set& known = guest_instructions();
  auto* const places = reinterpret_cast<code_place*>(made + 1);
  std::uint16_t offset = 0;
  for (std::size_t i = 0; i != sizes.size(); ++i) {
    const auto instruction = code.subspan(offset, sizes[i]);
    const code_place& place =
        *new (places + i) code_place{operations[i], static_cast<std::uint8_t>(known.mark_of(instruction).value_or(0)),
                                     static_cast<std::uint16_t>(i), offset};
    made->pauses_ |= place.kind == op_kind::pause;
    made->ends_in_call_ = known.is_system_call(instruction);
    made->returns_ = known.is_interrupt_return(instruction);
    offset = static_cast<std::uint16_t>(offset + sizes[i]);
  }
  return *made;
}

void* huge_pages::do_allocate(std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, huge_page_bytes);
  void* const memory = ::operator new(bytes, std::align_val_t{alignment});
  ask_for_huge_pages(memory, bytes);
  return memory;
}

void huge_pages::do_deallocate(void* memory, std::size_t, std::size_t alignment) {
  ::operator delete(memory, std::align_val_t{std::max(alignment, huge_page_bytes)});
}

const code_block* code_store::find(std::uint64_t address, std::span<const std::uint8_t> code,
                                   std::span<const std::uint8_t> sizes) {
  std::string name(reinterpret_cast<const char*>(&address), sizeof address);
  name.append(code.begin(), code.end());
  const std::lock_guard guard(lock_);
  const code_block*& block = blocks_[std::move(name)];
  if (block == nullptr) block = &code_block::make(memory_, address, code, sizes);
  return block;
}

}  // namespace homing::lab::model
