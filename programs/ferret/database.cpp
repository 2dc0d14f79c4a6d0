#include "database.hpp"

#include <algorithm>
#include <cmath>

#include "../../bench/common/work.hpp"

namespace ferret {
namespace {

constexpr std::size_t projections = 3;  // that make a bucket
constexpr float width = 0.35F;          // of a projection's interval

// A number drawn from a bell curve, by its own number: the sum of twelve even ones.
float drawn(std::uint64_t number) {
  double sum = -6;
  for (std::uint64_t i = 0; i < 12; ++i) sum += static_cast<double>(bench::mix(number * 12 + i) >> 11) * 0x1p-53;
  return static_cast<float>(sum);
}

// The directions and offsets of all tables, the same for all parts.
struct directions {
  directions() {
    std::uint64_t number = 0;
    for (auto& table : at) {
      for (auto& direction : table) {
        for (float& d : direction) d = drawn(++number);
      }
    }
  }
  std::array<std::array<std::array<float, dims>, projections>, tables> at;  // the last of dims is an offset
};

std::uint32_t bucket_of(std::size_t table, const feature& f) {
  static const directions all;
  std::uint64_t bucket = table;
  for (const auto& direction : all.at[table]) {
    float sum = direction[dims - 1];
    for (std::size_t k = 0; k + 1 < dims; ++k) sum += direction[k] * f[k];
    bucket = bench::mix(bucket ^ static_cast<std::uint64_t>(std::floor(sum / width) + 1000));
  }
  return static_cast<std::uint32_t>(bucket);
}

void keep_nearest(std::vector<match>& found) {
  const auto count = std::min(found.size(), ranked);
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end());
  found.resize(count);
}

}  // namespace

part::part(std::uint32_t first, std::span<const features> images)
    : first_(first), images_(images.size()), entries_(images.size() * segments_max * tables) {
  std::copy(images.begin(), images.end(), images_.begin());
  entry* to = entries_.begin();
  for (std::size_t t = 0; t < tables; ++t) {
    entry* const begin = to;
    for (std::uint32_t i = 0; i < images.size(); ++i) {
      for (const feature& f : images[i]) *to++ = {bucket_of(t, f), i};
    }
    std::sort(begin, to);
  }
}

std::vector<match> part::query(const features& wanted) const {
  const std::size_t a_table = images_.size() * segments_max;
  std::vector<std::uint32_t> candidates;
  for (std::size_t t = 0; t < tables; ++t) {
    const std::span<const entry> table(entries_.data() + t * a_table, a_table);
    for (const feature& f : wanted) {
      if (weight_of(f) == 0) continue;
      const std::uint32_t bucket = bucket_of(t, f);
      for (auto at = std::ranges::lower_bound(table, bucket, {}, &entry::bucket);
           at != table.end() && at->bucket == bucket; ++at) {
        candidates.push_back(at->image);
      }
    }
  }
  std::ranges::sort(candidates);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::vector<match> found;
  for (const std::uint32_t i : candidates) found.push_back({distance(wanted, images_[i]), first_ + i});
  keep_nearest(found);
  return found;
}

std::vector<match> part::search(const features& wanted) const {
  std::vector<match> found;
  for (std::uint32_t i = 0; i < images_.size(); ++i) found.push_back({distance(wanted, images_[i]), first_ + i});
  keep_nearest(found);
  return found;
}

std::vector<match> merge(const std::vector<match>& a, const std::vector<match>& b) {
  std::vector<match> both;
  std::ranges::merge(a, b, std::back_inserter(both));
  both.resize(std::min(both.size(), ranked));
  return both;
}

}  // namespace ferret
