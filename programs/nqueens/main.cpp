// All ways to put n queens on a board of n x n so that none takes another; a task for each safe place in the upper
// rows.
#include <array>
#include <bit>
#include <cstdint>

#include "../common/models.hpp"
#include "../common/solver_parts.hpp"

namespace {

using namespace programs;

constexpr size_name sizes[] = {{"8", "92 ways"}, {"10", "724 ways"}, {"12", "14,200 ways"}, {"14", "365,596 ways"}};
constexpr unsigned queens[] = {8, 10, 12, 14};
constexpr std::uint64_t known[] = {92, 724, 14'200, 365'596};
constexpr unsigned rows_alone = 7;  // a task has so many rows to itself

/// What the queens above threaten in the next row, a bit a column.
struct board {
  std::uint32_t columns = 0;
  std::uint32_t falling = 0;
  std::uint32_t rising = 0;
  [[nodiscard]] std::uint32_t safe(std::uint32_t all) const { return all & ~(columns | falling | rising); }
  [[nodiscard]] board with(std::uint32_t place) const {
    return {columns | place, (falling | place) << 1U, (rising | place) >> 1U};
  }
};

template <class Model>
class solver : public solver_without_data {
 public:
  solver(const request& r, Model& model) : model_(model), size_(r.size), all_((1U << queens[r.size]) - 1) {}
  void run() {
    model_.root([this] { result_ = count(board{}, queens[size_]); });
  }
  [[nodiscard]] std::string wrong() const { return result_ == known[size_] ? "" : std::to_string(result_) + " ways"; }
  /// Ways.
  [[nodiscard]] double amount() const { return static_cast<double>(known[size_]); }

 private:
  std::uint64_t alone(const board& b) const {
    std::uint64_t sum = 0;
    if (b.columns == all_) return 1;
    for (std::uint32_t safe = b.safe(all_); safe != 0; safe &= safe - 1) sum += alone(b.with(safe & -safe));
    return sum;
  }
  std::uint64_t count(const board& b, unsigned rows) {
    if (rows <= rows_alone) return alone(b);
    std::array<board, 32> next;
    std::array<std::uint64_t, 32> ways{};
    std::size_t children = 0;
    for (std::uint32_t safe = b.safe(all_); safe != 0; safe &= safe - 1) next[children++] = b.with(safe & -safe);
    const auto child = [&](std::size_t i) { ways[i] = count(next[i], rows - 1); };
    if (rows == queens[size_]) {
      deal(model_, children, child);
    } else {
      model_.all(children, child);
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < children; ++i) sum += ways[i];
    return sum;
  }

  Model& model_;
  std::size_t size_;
  std::uint32_t all_;
  std::uint64_t result_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_tasks<solver>(argc, argv, {"nqueens", "Ways to put n queens on a board.", "way", sizes});
}
