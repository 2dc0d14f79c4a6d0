/// How one dimension of an index space falls into parts: in blocks, or dealt out like cards.
///
/// Definitions. The indices 0..extent-1 are taken in units of `grain` (the last may be short).
///   whole         one part has them all
///   block         part p has one run of units. Of u units and m parts, the first u mod m parts have one more; with
///                 weights, part p has floor(u w_p / W), and what is left goes to the largest remainders, lower
///                 parts first if equal (Hamilton's method)
///   cyclic        unit i belongs to part i mod m; with weights, rounds in which part p has its share of slots, spread
///                 evenly (smooth round-robin: each slot to the largest credit, lower parts first if equal)
///   block_cyclic  cyclic with units of `block` indices
/// With fewer units than parts, some parts are empty. All of it is a function of the arguments, nothing else.
/// Source: TBB-NUMA 4.5 (predefined data distributions); the names are High Performance Fortran's.
#pragma once

#include <homing/detail/fault.hpp>
#include <homing/detail/shared_table.hpp>
#include <homing/domain_set.hpp>
#include <homing/export.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace homing {

/// Threads: like an int. Cheap to copy. Constant, but for weights.
/// Errors: no parts, a grain or block of 0, and an index outside 0..extent-1 are programmer's errors; the last is
/// checked in debug builds only. No arithmetic overflows, whatever the extent.
class axis {
 public:
  [[nodiscard]] static constexpr axis whole(std::size_t extent) noexcept { return {rule::block, extent, 1, 1}; }
  [[nodiscard]] static constexpr axis block(std::size_t extent, std::uint32_t parts, std::size_t grain = 1) noexcept {
    return {rule::block, extent, parts, grain};
  }
  [[nodiscard]] static constexpr axis cyclic(std::size_t extent, std::uint32_t parts) noexcept {
    return {rule::cyclic, extent, parts, 1};
  }
  [[nodiscard]] static constexpr axis block_cyclic(std::size_t extent, std::uint32_t parts,
                                                   std::size_t block) noexcept {
    return {rule::cyclic, extent, parts, block};
  }
  /// Weighted: one part a weight. In a cyclic rule, weights count to one in 4096: a part smaller than that may be
  /// empty.
  [[nodiscard]] HOMING_API static axis block(std::size_t extent, const weights& w, std::size_t grain = 1);
  [[nodiscard]] HOMING_API static axis cyclic(std::size_t extent, const weights& w);
  [[nodiscard]] HOMING_API static axis block_cyclic(std::size_t extent, const weights& w, std::size_t block);

  [[nodiscard]] constexpr std::size_t extent() const noexcept { return extent_; }
  [[nodiscard]] constexpr std::uint32_t parts() const noexcept { return parts_; }

  /// The part that index i belongs to.
  [[nodiscard]] constexpr std::uint32_t part_of(std::size_t i) const noexcept;
  /// The end of the run of indices around i that belong to the same part: > i, at most extent().
  [[nodiscard]] constexpr std::size_t run_end(std::size_t i) const noexcept;
  /// How many indices belong to a part.
  [[nodiscard]] constexpr std::size_t size_of(std::uint32_t part) const noexcept;

 private:
  enum class rule : std::uint8_t { block, cyclic };
  constexpr axis(rule how, std::size_t extent, std::uint32_t parts, std::size_t grain) noexcept
      : how_(how), parts_(parts), extent_(extent), grain_(grain) {
    detail::expects(parts > 0, "axis", "no parts; an axis has at least one");
    detail::expects(grain > 0, "axis", "a grain or block of 0; 1 is the smallest");
  }
  axis(rule how, std::size_t extent, const weights& w, std::size_t grain);

  [[nodiscard]] constexpr std::size_t units() const noexcept { return extent_ / grain_ + (extent_ % grain_ != 0); }
  // Where unit u begins, if it is one; u == units() is the end.
  [[nodiscard]] constexpr std::size_t begin_of(std::size_t u) const noexcept {
    return u < units() ? u * grain_ : extent_;
  }
  [[nodiscard]] constexpr std::uint32_t part_of_unit(std::size_t u) const noexcept;
  // Of a block rule: the first unit of a part.
  [[nodiscard]] constexpr std::size_t first_unit(std::uint32_t part) const noexcept;
  [[nodiscard]] constexpr std::size_t slots() const noexcept { return table_.size() - parts_; }

  rule how_;
  std::uint32_t parts_;
  std::size_t extent_;
  std::size_t grain_;
  // Empty without weights. Block: the first unit of each part, then units(). Cyclic: the part of each slot of a
  // round, then the number of slots of each part.
  detail::shared_table table_;
};

constexpr std::size_t axis::first_unit(std::uint32_t part) const noexcept {
  if (!table_.empty()) return table_[part];
  const std::size_t each = units() / parts_;
  const std::size_t longer = units() % parts_;
  return part * each + std::min<std::size_t>(part, longer);
}

constexpr std::uint32_t axis::part_of_unit(std::size_t u) const noexcept {
  if (parts_ == 1) return 0;
  if (how_ == rule::cyclic) {
    return static_cast<std::uint32_t>(table_.empty() ? u % parts_ : table_[u % slots()]);
  }
  if (!table_.empty()) {  // the last part that begins at u or before: empty ones begin where the next one does
    const auto bounds = table_.values().first(parts_);
    return static_cast<std::uint32_t>(std::upper_bound(bounds.begin(), bounds.end(), u) - bounds.begin() - 1);
  }
  const std::size_t each = units() / parts_;
  const std::size_t longer = units() % parts_;
  const std::size_t in_longer = longer * (each + 1);
  return static_cast<std::uint32_t>(u < in_longer ? u / (each + 1) : longer + (u - in_longer) / each);
}

constexpr std::uint32_t axis::part_of(std::size_t i) const noexcept {
  assert(i < extent_);
  return part_of_unit(i / grain_);
}

constexpr std::size_t axis::run_end(std::size_t i) const noexcept {
  assert(i < extent_);
  if (parts_ == 1) return extent_;
  const std::size_t u = i / grain_;
  const std::uint32_t part = part_of_unit(u);
  if (how_ == rule::block) return begin_of(first_unit(part + 1));
  if (table_.empty()) return begin_of(u + 1);
  const std::size_t round = slots();
  if (table_[round + part] == round) return extent_;  // all others have weight zero
  std::size_t end = u + 1;
  while (end < units() && table_[end % round] == part) ++end;
  return begin_of(end);
}

constexpr std::size_t axis::size_of(std::uint32_t part) const noexcept {
  if (part >= parts_) return 0;
  if (how_ == rule::block) return begin_of(first_unit(part + 1)) - begin_of(first_unit(part));
  const std::size_t all = units();
  if (all == 0) return 0;
  std::size_t mine = 0;
  if (table_.empty()) {
    mine = all / parts_ + (part < all % parts_);
  } else {
    const std::size_t round = slots();
    mine = all / round * table_[round + part];
    for (std::size_t s = 0; s < all % round; ++s) mine += table_[s] == part;
  }
  const std::size_t missing = grain_ - (extent_ - begin_of(all - 1));  // of the last unit
  if (part_of_unit(all - 1) != part) return mine * grain_;
  return (mine - 1) * grain_ + (grain_ - missing);
}

}  // namespace homing
