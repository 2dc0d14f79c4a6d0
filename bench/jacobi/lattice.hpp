// The problem: a lattice with fixed values around it, cut into blocks that are numbered as the loops i, j, k visit
// them.
//
// As in the paper, k is the fastest index in memory and i the slowest; "600x10x100" names k, j and i in this order.
#pragma once

#include <array>
#include <cstddef>

namespace jacobi {

/// Sites along k, j and i.
struct extents {
  std::size_t k;
  std::size_t j;
  std::size_t i;
  [[nodiscard]] std::size_t sites() const noexcept { return k * j * i; }
  friend bool operator==(const extents&, const extents&) = default;
};

/// Sites first <= x < last in each direction, counted without the fixed values around the lattice.
struct site_box {
  extents first;
  extents last;
};

class lattice {
 public:
  lattice(const extents& sites, const extents& block) noexcept
      : sites_(sites),
        block_(block),
        blocks_{divide(sites.k, block.k), divide(sites.j, block.j), divide(sites.i, block.i)} {}

  [[nodiscard]] const extents& sites() const noexcept { return sites_; }
  [[nodiscard]] const extents& block() const noexcept { return block_; }
  /// Blocks along each direction, and in all.
  [[nodiscard]] const extents& blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::size_t block_count() const noexcept { return blocks_.sites(); }
  /// The number of a block: i slowest, k fastest.
  [[nodiscard]] std::size_t number_of(std::size_t ib, std::size_t jb, std::size_t kb) const noexcept {
    return (ib * blocks_.j + jb) * blocks_.k + kb;
  }
  [[nodiscard]] site_box box_of(std::size_t number) const noexcept {
    const std::size_t kb = number % blocks_.k;
    const std::size_t jb = number / blocks_.k % blocks_.j;
    const std::size_t ib = number / blocks_.k / blocks_.j;
    return {{kb * block_.k, jb * block_.j, ib * block_.i},
            {last(kb, block_.k, sites_.k), last(jb, block_.j, sites_.j), last(ib, block_.i, sites_.i)}};
  }

  /// Doubles in an array that holds the lattice and one layer of fixed values on each side.
  [[nodiscard]] std::size_t values() const noexcept { return (sites_.k + 2) * (sites_.j + 2) * (sites_.i + 2); }
  [[nodiscard]] std::size_t row() const noexcept { return sites_.k + 2; }
  [[nodiscard]] std::size_t plane() const noexcept { return row() * (sites_.j + 2); }
  /// Where site (i, j, k) is in the array.
  [[nodiscard]] std::size_t place_of(std::size_t i, std::size_t j, std::size_t k) const noexcept {
    return (i + 1) * plane() + (j + 1) * row() + k + 1;
  }

 private:
  static std::size_t divide(std::size_t all, std::size_t part) noexcept { return (all + part - 1) / part; }
  static std::size_t last(std::size_t number, std::size_t part, std::size_t all) noexcept {
    return (number + 1) * part < all ? (number + 1) * part : all;
  }

  extents sites_;
  extents block_;
  extents blocks_;
};

}  // namespace jacobi
