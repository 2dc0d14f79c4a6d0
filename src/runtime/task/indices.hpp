/// The scheduler's numbers as types, so that none passes for another: a domain, a slot of an arena, an affinity.
///
/// Threads: values.
#pragma once

#include <cstdint>

#include <oneapi/tbb/detail/_task.h>

#include "topology/ids.hpp"

namespace homing::scheduler {

using topology::domain_index;
using topology::to_index;

/// In place of a domain, on hot paths: an optional is put together in memory.
inline constexpr domain_index no_domain{~std::uint32_t{0}};

/// The domains 0 to count - 1.
class domain_range {
 public:
  class iterator {
   public:
    constexpr explicit iterator(std::uint32_t at) noexcept : at_(at) {}
    [[nodiscard]] constexpr domain_index operator*() const noexcept { return domain_index{at_}; }
    constexpr iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    [[nodiscard]] constexpr bool operator==(const iterator&) const noexcept = default;

   private:
    std::uint32_t at_;
  };

  constexpr explicit domain_range(std::uint32_t count) noexcept : count_(count) {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(0); }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator(count_); }

 private:
  std::uint32_t count_;
};

/// A slot's place in its arena.
enum class slot_id : std::uint16_t {};
inline constexpr slot_id no_slot{tbb::detail::d1::no_slot};
[[nodiscard]] constexpr std::uint16_t to_index(slot_id slot) noexcept { return static_cast<std::uint16_t>(slot); }

/// Where a task would rather run, in oneTBB's numbers: a slot's; from first_domain_affinity up, a domain's; none.
enum class affinity : std::uint16_t {};
inline constexpr affinity no_affinity{tbb::detail::d1::no_slot};
/// Of a task that notes the slot in which it ran: it differs from every slot's.
inline constexpr affinity any_affinity{tbb::detail::d1::any_slot};
inline constexpr std::uint16_t first_domain_affinity = 0x8000;

[[nodiscard]] constexpr std::uint16_t to_number(affinity a) noexcept { return static_cast<std::uint16_t>(a); }
[[nodiscard]] constexpr bool names_slot(affinity a) noexcept { return to_number(a) < first_domain_affinity; }
/// Where names_slot().
[[nodiscard]] constexpr slot_id slot_of(affinity a) noexcept { return slot_id{to_number(a)}; }
[[nodiscard]] constexpr affinity affinity_to(domain_index domain) noexcept {
  return affinity{static_cast<std::uint16_t>(first_domain_affinity + to_index(domain))};
}

}  // namespace homing::scheduler
