/// Which domain each part of an index space belongs to: one object for the data, the work and the check.
///
/// enforce() moves the pages as it says, a parallel loop sends each subrange to its home, verify() tells what is true.
///
///   homing::regular_distribution rows = homing::block(row_count);             // all domains, equal shares
///   auto by_cpu = homing::block(n, over, homing::weights::by_cpus(machine, over));
///   auto tiles  = homing::regular_distribution<2>({axis::block(m, 2), axis::block_cyclic(n, 2, 64)}, over);
///
/// Source: TBB-NUMA 4.5: "a single method ... used to determine the affinity of a subrange of the iteration space".
#pragma once

#include <homing/axis.hpp>
#include <homing/box.hpp>
#include <homing/detail/fault.hpp>
#include <homing/domain_set.hpp>
#include <homing/ids.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>

namespace homing {

/// What a loop, enforce() and verify() need of a distribution: one member that names the home of a subrange, or none.
/// A user's own type only has to keep these rules:
///   - equal questions get equal answers, from any thread;
///   - if a subrange has a home, then so has every subrange inside it, the same;
///   - none means that the subrange is split (ask for smaller ones), or, of a single index, that it has no home.
/// An empty subrange is never asked for. A type with a member `static constexpr bool has_homes = false` never names
/// one, and is not asked.
template <class Dist, std::size_t Dims = 1>
concept distribution_over = requires(const Dist& d, const box<Dims>& part) {
  { d.home(part) } -> std::convertible_to<std::optional<domain_index>>;
};

template <class Dist>
concept distribution_without_homes = requires { requires !Dist::has_homes; };

/// A run of row-major positions that have the same home, or all none; the longest, where nothing else is said.
struct piece {
  std::size_t first;
  std::size_t last;
  std::optional<domain_index> home;
  friend constexpr bool operator==(const piece&, const piece&) = default;
};

/// A distribution that knows its runs: enumeration then takes time in proportion to the pieces.
template <class Dist>
concept enumerable_distribution = requires(const Dist& d, std::size_t position) {
  { d.run_at(position, position) } -> std::same_as<piece>;
};

/// A product of axes: the parts of all axes make a grid, whose cells, row-major, are the members of a domain_set.
///
/// Threads: like an int. Cheap to copy, constexpr but for weights and named sets. (With g++ 12 a temporary of two or
/// more dimensions is no constant: name it.)
/// Errors: an index space of more than SIZE_MAX points, and a grid that has not as many cells as the set has members,
/// are programmer's errors.
template <std::size_t Dims = 1>
class regular_distribution {
  static_assert(Dims >= 1);

 public:
  constexpr regular_distribution(const std::array<axis, Dims>& axes, const domain_set& over);

  [[nodiscard]] constexpr const axis& along(std::size_t dimension) const noexcept { return axes_[dimension]; }
  [[nodiscard]] constexpr const domain_set& domains() const noexcept { return over_; }
  /// Points of the index space.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

  /// The domain that a point belongs to. The point is inside the space (checked in debug builds).
  [[nodiscard]] constexpr domain_index home_of(const point<Dims>& at) const noexcept;
  [[nodiscard]] constexpr domain_index home_of(std::size_t i) const noexcept
    requires(Dims == 1)
  {
    return home_of(point<1>{i});
  }
  /// The domain that all of a subrange belongs to; none if there are several, or if it is empty or not inside.
  [[nodiscard]] constexpr std::optional<domain_index> home(const box<Dims>& part) const noexcept;

  /// How many points belong to a domain; 0 for one that is not a member.
  [[nodiscard]] constexpr std::size_t size_of(domain_index domain) const noexcept;
  /// A run of row-major positions from `position`, to `last` at most. It ends where the home changes, or before: at the
  /// end of a part of the last axis whose neighbour, in the next row, has the same home. position < last <= size().
  [[nodiscard]] constexpr piece run_at(std::size_t position, std::size_t last) const noexcept;
  /// Calls f(box<Dims>) for each largest box of the grid that belongs to a domain, in row-major order.
  template <class F>
  constexpr void for_each_box(domain_index domain, F&& f) const;

 private:
  [[nodiscard]] constexpr std::uint32_t cell_of(const point<Dims>& at) const noexcept;
  // The part of each axis in which a cell of the grid lies.
  [[nodiscard]] constexpr std::array<std::uint32_t, Dims> parts_of(std::uint32_t cell) const noexcept;

  std::array<axis, Dims> axes_;
  domain_set over_;
  std::size_t size_;
};

}  // namespace homing

// Here, because the functions below are constants only if the members' definitions come before them.
#include <homing/detail/regular_distribution_inl.hpp>

namespace homing {

/// One dimension, one part a domain. Without `over`: all domains of the current machine.
/// `grain`: blocks begin at multiples of it, for example at elements_per_page<T>().
[[nodiscard]] constexpr regular_distribution<1> block(std::size_t size, const domain_set& over,
                                                      std::size_t grain = 1) noexcept {
  return {{axis::block(size, over.size(), grain)}, over};
}
[[nodiscard]] inline regular_distribution<1> block(std::size_t size) { return block(size, domain_set::all()); }
[[nodiscard]] inline regular_distribution<1> block(std::size_t size, const domain_set& over, const weights& w,
                                                   std::size_t grain = 1) {
  return {{axis::block(size, w, grain)}, over};
}
[[nodiscard]] constexpr regular_distribution<1> cyclic(std::size_t size, const domain_set& over) noexcept {
  return {{axis::cyclic(size, over.size())}, over};
}
[[nodiscard]] inline regular_distribution<1> cyclic(std::size_t size) { return cyclic(size, domain_set::all()); }
[[nodiscard]] inline regular_distribution<1> cyclic(std::size_t size, const domain_set& over, const weights& w) {
  return {{axis::cyclic(size, w)}, over};
}
[[nodiscard]] constexpr regular_distribution<1> block_cyclic(std::size_t size, std::size_t block_size,
                                                             const domain_set& over) noexcept {
  return {{axis::block_cyclic(size, over.size(), block_size)}, over};
}
[[nodiscard]] inline regular_distribution<1> block_cyclic(std::size_t size, std::size_t block_size) {
  return block_cyclic(size, block_size, domain_set::all());
}
[[nodiscard]] inline regular_distribution<1> block_cyclic(std::size_t size, std::size_t block_size,
                                                          const domain_set& over, const weights& w) {
  return {{axis::block_cyclic(size, w, block_size)}, over};
}

/// Two or more dimensions, blocks of whole hyperplanes (of rows, in 2-D) along the first: each part is contiguous.
template <std::size_t Dims>
  requires(Dims >= 2)
[[nodiscard]] constexpr regular_distribution<Dims> block(const point<Dims>& extents, const domain_set& over) noexcept;

/// Two or more dimensions, blocks along all of them: the domains as a grid as near to a cube as their number allows,
/// the longer sides along the first dimensions. Least surface between parts, but a row-major part is then in many runs.
template <std::size_t Dims>
  requires(Dims >= 2)
[[nodiscard]] constexpr regular_distribution<Dims> block_grid(const point<Dims>& extents,
                                                              const domain_set& over) noexcept;

/// A distribution of the user's own over several dimensions, seen along memory: a row-major position has the home of
/// its point. Lets enforce() and verify() take any `distribution_over<Dims>`. Holds a copy of `of`.
template <std::size_t Dims, distribution_over<Dims> Dist>
class row_major {
 public:
  static constexpr bool has_homes = !distribution_without_homes<Dist>;
  constexpr row_major(Dist of, const point<Dims>& extents);
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::optional<domain_index> home(const box<1>& positions) const;

 private:
  Dist of_;
  point<Dims> extents_;
  std::size_t size_;
};

/// The run of positions from `position` on that has one home, or none, up to `last`; position < last.
/// A distribution with nothing but home() is asked O(log(run length)) times, and once for each index without a home.
template <class Dist>
  requires distribution_over<Dist, 1> || enumerable_distribution<Dist>
[[nodiscard]] constexpr piece run_at(const Dist& d, std::size_t position, std::size_t last);

/// Calls f(piece) for the longest pieces of first..last-1, in order; they touch, and neighbours differ in home.
template <class Dist, class F>
  requires distribution_over<Dist, 1> || enumerable_distribution<Dist>
constexpr void for_each_piece(const Dist& d, std::size_t first, std::size_t last, F&& f);

/// The same, only the pieces that belong to `domain`.
template <class Dist, class F>
  requires distribution_over<Dist, 1> || enumerable_distribution<Dist>
constexpr void for_each_piece_of(const Dist& d, domain_index domain, std::size_t first, std::size_t last, F&& f) {
  for_each_piece(d, first, last, [&](const piece& p) {
    if (p.home == domain) f(p);
  });
}

}  // namespace homing

#include <homing/detail/distribution_inl.hpp>
