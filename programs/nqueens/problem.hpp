// All ways to put n queens on a board of n x n so that none takes another; a task for each safe place in the upper
// rows.
#pragma once

#include <homing/placement.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/variants.hpp"

namespace nqueens {

using programs::request;

inline constexpr unsigned rows_alone = 7;  ///< a task has so many rows to itself

/// What the queens above threaten in the next row, a bit a column; and how many rows are left.
struct board {
  std::uint32_t columns = 0;
  std::uint32_t falling = 0;
  std::uint32_t rising = 0;
  unsigned rows = 0;
  [[nodiscard]] std::uint32_t safe(std::uint32_t all) const { return all & ~(columns | falling | rising); }
  [[nodiscard]] board with(std::uint32_t place) const {
    return {columns | place, (falling | place) << 1U, (rising | place) >> 1U, rows - 1};
  }
};

/// The boards with one queen more.
struct boards {
  std::array<board, 32> at;
  std::size_t count = 0;
};

class problem {
 public:
  explicit problem(const request& r) : size_(r.size), all_((1U << queens[r.size]) - 1) {}
  void reset() {}
  [[nodiscard]] std::string wrong() const { return result_ == known[size_] ? "" : std::to_string(result_) + " ways"; }
  /// Ways.
  [[nodiscard]] double amount() const { return static_cast<double>(known[size_]); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {}; }

  [[nodiscard]] board empty() const { return {0, 0, 0, queens[size_]}; }
  [[nodiscard]] std::uint64_t alone(const board& b) const {
    if (b.rows == 0) return 1;
    std::uint64_t sum = 0;
    for (std::uint32_t safe = b.safe(all_); safe != 0; safe &= safe - 1) sum += alone(b.with(safe & -safe));
    return sum;
  }
  [[nodiscard]] boards next(const board& b) const {
    boards found;
    for (std::uint32_t safe = b.safe(all_); safe != 0; safe &= safe - 1) found.at[found.count++] = b.with(safe & -safe);
    return found;
  }

 protected:
  std::uint64_t result_ = 0;

 private:
  static constexpr unsigned queens[] = {8, 10, 12, 14};
  static constexpr std::uint64_t known[] = {92, 724, 14'200, 365'596};
  std::size_t size_;
  std::uint32_t all_;
};

inline constexpr programs::size_name sizes[] = {
    {"8", "92 ways"}, {"10", "724 ways"}, {"12", "14,200 ways"}, {"14", "365,596 ways"}};
[[nodiscard]] inline programs::description about() noexcept {
  return {"nqueens", "Ways to put n queens on a board.", "way", sizes};
}

}  // namespace nqueens
