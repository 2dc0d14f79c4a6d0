// B = transpose of A, recursive and cache-oblivious: each domain makes its rows of B out of everybody's rows of A.
#pragma once

#include <algorithm>
#include <array>
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
    });
    reset();
    const auto whole_rows = homing::block(n * n, homing::domain_set::all(), n);
    place_home(whole_rows, a_);
    place_home(whole_rows, b_);
  }
  /// No element of B is what it will be.
  void reset() {
    deal_.over(rows_, [this, n = rows_.size()](std::size_t first, std::size_t last) {
      std::fill(&b_[0] + first * n, &b_[0] + last * n, -1.0);
    });
  }
  void run() {
    const std::size_t n = rows_.size();
    deal_.root([&] {
      deal_.over_parts(
          [&](std::uint32_t p) {
            transpose(homing::domain_index{p}, {share_of(n, part_count(), p), {0, n}});
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

  struct part_of_b {
    interval r, c;  ///< rows and columns
    [[nodiscard]] std::size_t elements() const { return r.size() * c.size(); }
  };
  // The longer side is cut, at a multiple of the block.
  [[nodiscard]] static std::array<part_of_b, 2> halves(const part_of_b& of) {
    std::array<part_of_b, 2> result{of, of};
    const auto side = of.r.size() >= of.c.size() ? &part_of_b::r : &part_of_b::c;
    const std::size_t middle = (of.*side).first + ((of.*side).size() / 2 + block - 1) / block * block;
    (result[0].*side).last = (result[1].*side).first = middle;
    return result;
  }
  // Rows of B that have that home. Work is counted where a thread does it, for others may steal it.
  void transpose(homing::domain_index home, const part_of_b& of) {
    if (of.elements() <= alone) {
      count_work(home, of.elements());
      transpose_alone(of);
      return;
    }
    const auto [one, other] = halves(of);
    deal_.both([&, part = one] { transpose(home, part); }, [&, part = other] { transpose(home, part); });
  }
  void transpose_alone(const part_of_b& of) {
    if (of.r.size() > block || of.c.size() > block) {
      for (const part_of_b& half : halves(of)) transpose_alone(half);
      return;
    }
    const std::size_t n = rows_.size();
    const double* const __restrict a = a_.data();
    double* const __restrict b = b_.data();
    for (std::size_t i = of.r.first; i < of.r.last; ++i) {
      for (std::size_t j = of.c.first; j < of.c.last; ++j) b[i * n + j] = a[j * n + i];
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
