// The database in parts: the features of some images, and tables that find those with a segment like a given one.
// Source of the tables: Datar et al., "Locality-sensitive hashing scheme based on p-stable distributions", 2004.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../common/array.hpp"
#include "image.hpp"

namespace ferret {

constexpr std::size_t ranked = 10;  ///< images that a query finds at most
constexpr std::size_t tables = 12;

struct match {
  float distance;
  std::uint32_t image;
  friend auto operator<=>(const match&, const match&) = default;
};

/// Images first.. of the database, and where to find them. Threads: const calls by any.
class part {
 public:
  part(std::uint32_t first, std::span<const features> images);
  /// The images that share a bucket with one of the wanted one's segments; the nearest of them, in order.
  [[nodiscard]] std::vector<match> query(const features& wanted) const;
  /// The nearest of all images.
  [[nodiscard]] std::vector<match> search(const features& wanted) const;
  /// Calls f with each array: to place it, to count its pages.
  template <class F>
  void for_each_array(const F& f) {
    f(images_);
    f(entries_);
  }

 private:
  struct entry {
    std::uint32_t bucket;
    std::uint32_t image;
    friend auto operator<=>(const entry&, const entry&) = default;
  };
  std::uint32_t first_;
  programs::array<features> images_;
  programs::array<entry> entries_;  ///< of all tables, one after the other, each in the order of its buckets
};

/// The nearest of several lists, in order.
[[nodiscard]] std::vector<match> merge(const std::vector<match>& a, const std::vector<match>& b);

}  // namespace ferret
