#include "measure/chase.hpp"

#include <cstring>
#include <utility>

namespace homing::measure {
namespace {

// Steele, Lea and Flood's SplitMix64: good enough to hide an order from a prefetcher, and the same on every machine.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}
  /// From 0 up to and without `bound`; the bias is below bound / 2^64.
  std::size_t below(std::size_t bound) noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    __extension__ using wide = unsigned __int128;
    return static_cast<std::size_t>(static_cast<wide>(z) * bound >> 64U);
  }

 private:
  std::uint64_t state_;
};

const void* next_of(const void* line) noexcept {
  const void* next = nullptr;
  std::memcpy(&next, line, sizeof(next));
  return next;
}

}  // namespace

chase_cycle::chase_cycle(std::byte* memory, std::size_t bytes, std::size_t line_bytes, std::uint64_t seed)
    : memory_(memory), lines_(bytes / line_bytes) {
  const auto line = [&](std::size_t i) { return memory + i * line_bytes; };
  const auto get = [&](std::size_t i) { return next_of(line(i)); };
  const auto set = [&](std::size_t i, const void* to) { std::memcpy(line(i), &to, sizeof(to)); };
  for (std::size_t i = 0; i < lines_; ++i) set(i, line(i));
  generator random(seed);
  // Sattolo: swap with an earlier one, never with itself; what results is one cycle.
  for (std::size_t i = lines_ - 1; i > 0; --i) {
    const std::size_t j = random.below(i);
    const void* const kept = get(i);
    set(i, get(j));
    set(j, kept);
  }
}

const void* chase_cycle::walk(const void* from, std::size_t steps) noexcept {
  for (; steps >= 8; steps -= 8) {
    for (int i = 0; i < 8; ++i) from = next_of(from);
  }
  for (; steps > 0; --steps) from = next_of(from);
  return from;
}

std::size_t chase_cycle::length() const noexcept {
  const void* at = start();
  for (std::size_t steps = 1; steps <= lines_; ++steps) {
    at = next_of(at);
    if (at == start()) return steps;
  }
  return 0;
}

}  // namespace homing::measure
