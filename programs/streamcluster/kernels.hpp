// What streamcluster does for each block of points: distances to a point, and what opening a centre there would win.
// Apart from the variants, so that all of them run the same instructions and get the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace streamcluster {

/// Points of a batch, their weights, the centre that each belongs to (its place in the list of centres), and what that
/// costs: the weight times the square of the distance.
struct points {
  const float* at;
  const float* weight;
  std::uint32_t* owner;
  float* cost;
  std::size_t dims;
  [[nodiscard]] const float* point(std::size_t i) const { return at + i * dims; }
};

/// The square of the distance.
[[nodiscard]] float distance(const float* a, const float* b, std::size_t dims) noexcept;

/// All points first..last-1 belong to centre 0, at `centre`. Returns the sum of their costs.
double assign_first(const points& p, const float* centre, std::size_t first, std::size_t last) noexcept;
/// Those that a new centre is nearer to belong to it. Returns what that wins.
double assign_nearer(const points& p, const float* centre, std::uint32_t number, std::size_t first,
                     std::size_t last) noexcept;
/// What opening a centre there would win from points that are nearer to it; and to losses[c] is added what the other
/// points of centre c would lose if c closed and they went there, too.
double gain(const points& p, const float* centre, std::size_t first, std::size_t last,
            std::span<double> losses) noexcept;
/// Carries it out: points that are nearer, and points of closing centres, go to the new one; the others' centres have
/// new numbers.
void reassign(const points& p, const float* centre, std::uint32_t number, std::size_t first, std::size_t last,
              std::span<const std::uint8_t> closing, std::span<const std::uint32_t> renumbered) noexcept;

/// second[i] is what point i costs at the nearest of those centres that are not its own.
void second_nearest(const points& p, std::span<const std::uint32_t> centres, std::size_t first, std::size_t last,
                    std::span<float> second) noexcept;
/// What a new centre there would win; and to losses[c] is added what is lost if centre c closed in exchange, its points
/// going where they cost least.
double exchange_gain(const points& p, const float* centre, std::size_t first, std::size_t last,
                     std::span<const float> second, std::span<double> losses) noexcept;

}  // namespace streamcluster
