// Images and what is compared of them: segments of like colour, and a few numbers of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferret {

constexpr std::size_t side = 32;
constexpr std::size_t segments_max = 6;
constexpr std::size_t dims = 8;

struct pixel {
  std::uint8_t red, green, blue;
};
using picture = std::array<pixel, side * side>;

/// Of a segment: mean colour, place, extents and area, each in 0..1; the area is its weight.
using feature = std::array<float, dims>;
/// The largest segments; those that are missing have weight 0.
using features = std::array<feature, segments_max>;
[[nodiscard]] inline float weight_of(const feature& f) { return f[dims - 1]; }

/// Which segment each pixel belongs to, by the number of one of its pixels.
using segmentation = std::array<std::uint16_t, side * side>;

/// The image of that number: some shapes on a ground. `noise` disturbs each pixel by up to so much.
[[nodiscard]] picture make_picture(std::uint64_t number, int noise, std::uint64_t seed);
/// Joins neighbours of like colour.
[[nodiscard]] segmentation segment(const picture& p);
[[nodiscard]] features extract(const picture& p, const segmentation& s);

/// How unlike two images are: each segment of either is compared with the most similar one of the other.
[[nodiscard]] float distance(const features& a, const features& b) noexcept;

}  // namespace ferret
