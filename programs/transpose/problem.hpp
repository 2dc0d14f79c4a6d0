// B = transpose of A, recursive and cache-oblivious: each domain makes its rows of B out of everybody's rows of A.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../bench/common/work.hpp"
#include "../common/recursion.hpp"
#include "../common/variants.hpp"

namespace transpose_program {

using namespace programs;

inline constexpr size_name sizes[] = {{"512", "2 x 2 MiB"}, {"4096", "2 x 128 MiB"}, {"16384", "2 x 2 GiB"}};
inline constexpr std::size_t rows[] = {512, 4096, 16384};
inline constexpr std::size_t block = 16;         // both blocks of a leaf fit into the first cache
inline constexpr std::size_t alone = 64 * 1024;  // elements that a task has to itself

template <class Deal>
class solver {
 public:
  explicit solver(const request& r)
      : deal_(r.threads),
        rows_(homing::block(rows[r.size])),
        seed_(r.seed),
        a_(rows_.size() * rows_.size()),
        b_(a_.size()) {
    const std::size_t n = rows_.size();
    deal_.over(rows_, [this, n](std::size_t first, std::size_t last) {
      for (std::size_t i = first * n; i < last * n; ++i) a_[i] = value(i);
      std::fill(&b_[0] + first * n, &b_[0] + last * n, 0.0);
    });
    const auto whole_rows = homing::block(n * n, homing::domain_set::all(), n);
    place_home(whole_rows, a_);
    place_home(whole_rows, b_);
  }
  void reset() {}
  void run() {
    const std::size_t n = rows_.size();
    deal_.root([&] {
      deal_.over_parts(
          [&](std::uint32_t p) {
            const interval mine = share_of(n, part_count(), p);
            transpose(p, mine, {0, n});
          },
          [&](std::uint32_t p) { return &b_[share_of(n, part_count(), p).first * n]; });
    });
  }
  [[nodiscard]] std::string wrong() const {
    const std::size_t n = rows_.size();
    for (std::size_t i = 0; i < n * n; ++i) {
      if (b_[i] != value(i % n * n + i / n)) return "element " + std::to_string(i);
    }
    return "";
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {a_.range(), b_.range()}; }
  /// Megabytes read and written.
  [[nodiscard]] double amount() const { return 2 * sizeof(double) * static_cast<double>(a_.size()) / 1e6; }

  [[nodiscard]] migration moved() const { return moved_; }

 private:
  template <class Dist, class T>
  void place_home(const Dist& homes, array<T>& data) {
    if constexpr (Deal::places) place(homes, data, moved_);
  }
  [[nodiscard]] double value(std::size_t i) const { return static_cast<double>(bench::mix(i + seed_) >> 11); }

  // Some rows and columns of B.
  void transpose(std::uint32_t part, interval r, interval c) {
    if (r.size() <= block && c.size() <= block) {
      const std::size_t n = rows_.size();
      const double* const __restrict a = a_.data();
      double* const __restrict b = b_.data();
      for (std::size_t i = r.first; i < r.last; ++i) {
        for (std::size_t j = c.first; j < c.last; ++j) b[i * n + j] = a[j * n + i];
      }
      return;
    }
    const bool by_rows = r.size() >= c.size();
    interval& longer = by_rows ? r : c;
    const std::size_t middle = longer.first + (longer.size() / 2 + block - 1) / block * block;
    interval other_r = r;
    interval other_c = c;
    (by_rows ? other_r : other_c).first = middle;
    longer.last = middle;
    const std::size_t elements = r.size() * c.size();
    if (elements > alone) {
      deal_.both([&] { transpose(part, r, c); }, [&] { transpose(part, other_r, other_c); });
    } else {
      if (elements > alone / 2) count_work(homing::domain_index{part}, 2 * elements);
      transpose(part, r, c);
      transpose(part, other_r, other_c);
    }
  }

  Deal deal_;
  migration moved_;
  homing::regular_distribution<1> rows_;
  std::uint64_t seed_;
  array<double> a_, b_;
};

[[nodiscard]] inline programs::description about() noexcept {
  return {"transpose", "Matrix transposition, cache-oblivious.", "MB", sizes};
}

}  // namespace transpose_program
