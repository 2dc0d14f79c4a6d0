// Skynet: a tree of tasks with ten children each, whose leaves return their number.
#include <array>
#include <cstdint>
#include <numeric>

#include "../common/models.hpp"
#include "../common/solver_parts.hpp"

namespace {

using namespace programs;

constexpr size_name sizes[] = {{"10k", "10,000 leaves"}, {"1M", "a million leaves"}, {"100M", "a hundred million"}};
constexpr std::uint64_t leaves[] = {10'000, 1'000'000, 100'000'000};
constexpr std::uint64_t fan_out = 10;

template <class Model>
class solver : public solver_without_data {
 public:
  solver(const request& r, Model& model) : model_(model), leaves_(leaves[r.size]) {}
  void run() {
    model_.root([this] { result_ = sum(0, leaves_); });
  }
  [[nodiscard]] std::string wrong() const {
    return result_ == leaves_ * (leaves_ - 1) / 2 ? "" : "the sum is " + std::to_string(result_);
  }
  /// Millions of leaves.
  [[nodiscard]] double amount() const { return static_cast<double>(leaves_) / 1e6; }

 private:
  std::uint64_t sum(std::uint64_t first, std::uint64_t count) {
    if (count == 1) return first;
    std::array<std::uint64_t, fan_out> sums{};
    const std::uint64_t each = count / fan_out;
    const auto child = [&](std::size_t i) { sums[i] = sum(first + i * each, each); };
    if (count == leaves_) {
      deal(model_, fan_out, child);
    } else {
      model_.all(fan_out, child);
    }
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  }

  Model& model_;
  std::uint64_t leaves_;
  std::uint64_t result_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return run_tasks<solver>(argc, argv, {"skynet", "A tree of tasks, ten children each.", "Mleaf", sizes});
}
