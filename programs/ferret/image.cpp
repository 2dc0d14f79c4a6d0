#include "image.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "../../bench/common/work.hpp"

namespace ferret {
namespace {

constexpr int like = 24;  // colours that differ by less in each component are of one segment

std::uint8_t disturbed(int value, int by) { return static_cast<std::uint8_t>(std::clamp(value + by, 0, 255)); }

bool alike(const pixel& a, const pixel& b) {
  return std::abs(a.red - b.red) < like && std::abs(a.green - b.green) < like && std::abs(a.blue - b.blue) < like;
}

float one_way(const features& a, const features& b) noexcept {
  float sum = 0;
  for (const feature& f : a) {
    float least = dims;
    for (const feature& g : b) {
      float square = 0;
      for (std::size_t k = 0; k < dims; ++k) square += (f[k] - g[k]) * (f[k] - g[k]);
      if (weight_of(g) > 0) least = std::min(least, square);
    }
    sum += weight_of(f) * least;
  }
  return sum;
}

}  // namespace

picture make_picture(std::uint64_t number, int noise, std::uint64_t seed) {
  std::uint64_t state = bench::mix(number * 1'000'003 + seed);
  const auto draw = [&state](std::uint64_t below) { return static_cast<int>((state = bench::mix(state)) % below); };
  const auto colour = [&] {
    return pixel{static_cast<std::uint8_t>(draw(256)), static_cast<std::uint8_t>(draw(256)),
                 static_cast<std::uint8_t>(draw(256))};
  };
  picture p;
  p.fill(colour());
  constexpr int size = side;
  for (int shape = 0; shape < 5; ++shape) {
    const pixel c = colour();
    const int x = draw(side), y = draw(side), w = 3 + draw(side / 3), h = 3 + draw(side / 3);
    const bool round = draw(2) == 0;
    for (int i = std::max(0, y - h); i < std::min(size, y + h); ++i) {
      for (int j = std::max(0, x - w); j < std::min(size, x + w); ++j) {
        const int a = (i - y) * w, b = (j - x) * h;
        if (!round || a * a + b * b < w * w * h * h) p[static_cast<std::size_t>(i * size + j)] = c;
      }
    }
  }
  if (noise == 0) return p;
  state = bench::mix(state ^ seed << 1);
  const auto off = [&] { return draw(static_cast<std::uint64_t>(2 * noise + 1)) - noise; };
  for (pixel& q : p) q = {disturbed(q.red, off()), disturbed(q.green, off()), disturbed(q.blue, off())};
  return p;
}

segmentation segment(const picture& p) {
  segmentation of;
  std::iota(of.begin(), of.end(), std::uint16_t{0});
  const auto root = [&of](std::size_t i) {
    while (of[i] != i) i = of[i] = of[of[i]];
    return static_cast<std::uint16_t>(i);
  };
  const auto join = [&](std::size_t i, std::size_t j) {
    if (!alike(p[i], p[j])) return;
    const std::uint16_t a = root(i), b = root(j);
    of[std::max(a, b)] = std::min(a, b);
  };
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (i % side != 0) join(i, i - 1);
    if (i >= side) join(i, i - side);
  }
  for (std::size_t i = 0; i < p.size(); ++i) of[i] = root(i);
  return of;
}

features extract(const picture& p, const segmentation& s) {
  struct sums {
    std::uint16_t number = 0;
    int area = 0, red = 0, green = 0, blue = 0, x = 0, y = 0;
    int left = side, right = 0;
  };
  std::vector<sums> all(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    sums& of = all[s[i]];
    const auto x = static_cast<int>(i % side);
    of.number = s[i];
    ++of.area;
    of.red += p[i].red;
    of.green += p[i].green;
    of.blue += p[i].blue;
    of.x += x;
    of.y += static_cast<int>(i / side);
    of.left = std::min(of.left, x);
    of.right = std::max(of.right, x);
  }
  std::ranges::partial_sort(all, all.begin() + segments_max, [](const sums& a, const sums& b) {
    return a.area != b.area ? a.area > b.area : a.number < b.number;
  });
  features result{};
  for (std::size_t k = 0; k < segments_max && all[k].area > 0; ++k) {
    const sums& of = all[k];
    const auto mean = [&of](int sum, float most) {
      return static_cast<float>(sum) / (static_cast<float>(of.area) * most);
    };
    result[k] = {mean(of.red, 255),
                 mean(of.green, 255),
                 mean(of.blue, 255),
                 mean(of.x, side),
                 mean(of.y, side),
                 static_cast<float>(of.right - of.left) / side,
                 std::sqrt(static_cast<float>(of.area)) / side,
                 static_cast<float>(of.area) / (side * side)};
  }
  return result;
}

float distance(const features& a, const features& b) noexcept { return one_way(a, b) + one_way(b, a); }

}  // namespace ferret
