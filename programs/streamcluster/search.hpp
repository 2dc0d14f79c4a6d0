// The local search for centres: between k_least and k_most of them, in a batch of weighted points.
//
// Opening a centre costs z. A point is proposed as a centre; if what it wins, less z, plus what centres save that may
// close then, is above 0, it opens. Half-intervals of z give the wished number of centres. All sums are made of blocks
// of points, added in their order, so that threads don't change them. Source: O'Callaghan et al., "Streaming-data
// algorithms for high-quality clustering", 2002.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <homing/distribution.hpp>

#include "../../bench/common/work.hpp"
#include "../common/at_home.hpp"
#include "kernels.hpp"

namespace streamcluster {

constexpr std::size_t points_a_block = 32;
constexpr std::size_t small_batch = 1024;
constexpr int more_starts = 3;  // of a small batch

struct bounds {
  std::size_t k_least;
  std::size_t k_most;
};

/// A sequence that depends on the seed alone.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(bench::mix(seed)) {}
  [[nodiscard]] double uniform() { return static_cast<double>((state_ = bench::mix(state_)) >> 11) * 0x1p-53; }
  [[nodiscard]] std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t state_;
};

/// For each block of points a number for each centre. A block has cache lines of its own, which one thread writes.
class sums_by_centre {
 public:
  void set_size(std::size_t blocks, std::size_t centres) {
    centres_ = centres;
    stride_ = (centres + a_line - 1) / a_line * a_line;
    all_.resize(blocks * stride_);
  }
  /// The block's numbers, all 0.
  [[nodiscard]] std::span<double> begin(std::size_t block) {
    const std::span<double> its = std::span(all_).subspan(block * stride_, centres_);
    std::ranges::fill(its, 0.0);
    return its;
  }
  /// Of each centre, over all blocks in their order.
  [[nodiscard]] std::vector<double> sums() const {
    std::vector<double> result(centres_, 0.0);
    for (std::size_t at = 0; at < all_.size(); at += stride_) {
      for (std::size_t c = 0; c < centres_; ++c) result[c] += all_[at + c];
    }
    return result;
  }

 private:
  static constexpr std::size_t a_line = 64 / sizeof(double);
  std::size_t centres_ = 0;
  std::size_t stride_ = 0;
  std::vector<double, tbb::cache_aligned_allocator<double>> all_;
};

/// How a loop over blocks of points is dealt is the variant's: `loops.over(blocks, f)` calls f(first, last) for parts
/// of the distribution's indices, on any threads, and ends when all have ended.
template <class Loops>
class search {
 public:
  search(Loops& loops, const points& p, std::size_t count, std::uint64_t seed)
      : loops_(loops),
        blocks_(homing::block((count + points_a_block - 1) / points_a_block)),
        points_(p),
        count_(count),
        random_(seed),
        sums_(blocks_.size()) {}

  /// Returns what all points cost in the end, without the centres' own.
  double run(const bounds& wanted) {
    if (count_ <= wanted.k_least) {
      every_point();
      return 0;
    }
    double low = 0;
    double high = all_to_first(0);
    z_ = high / 2;
    start(wanted);
    while (low < 0.999 * high) {
      improve(0.01, wanted);
      if (centres_.size() <= wanted.k_most && centres_.size() >= wanted.k_least) break;
      (centres_.size() > wanted.k_most ? low : high) = z_;
      z_ = (low + high) / 2;
      if (centres_.size() < wanted.k_least) start(wanted);
    }
    least_ = std::min(wanted.k_least, centres_.size());
    improve(0.001, wanted);
    finish();
    if (count_ <= small_batch) start_again(wanted);
    return cost_;
  }
  /// The points that are centres, by number.
  [[nodiscard]] const std::vector<std::uint32_t>& centres() const { return centres_; }
  [[nodiscard]] double z() const { return z_; }

 private:
  /// f(first, last) of each block of points, added up in order.
  template <class F>
  double over_points(const F& f) {
    loops_.over(blocks_, [&](std::size_t first, std::size_t last) {
      programs::count_work(blocks_, first, last);
      for (std::size_t b = first; b < last; ++b) {
        sums_[b] = f(b, b * points_a_block, std::min(count_, (b + 1) * points_a_block));
      }
    });
    return std::accumulate(sums_.begin(), sums_.end(), 0.0);
  }
  void every_point() {
    centres_.resize(count_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      centres_[i] = points_.owner[i] = i;
      points_.cost[i] = 0;
    }
  }
  double all_to_first(std::uint32_t first) {
    centres_ = {first};
    const float* const at = points_.point(first);
    cost_ = over_points([&](std::size_t, std::size_t i, std::size_t j) { return assign_first(points_, at, i, j); });
    return cost_;
  }
  /// A point becomes a centre with a chance in proportion to what it costs now.
  void start(const bounds& wanted) {
    const auto first = static_cast<std::uint32_t>(random_.below(count_));
    all_to_first(first);
    for (std::uint32_t i = 0; i < count_ && centres_.size() < 4 * wanted.k_most; ++i) {
      if (random_.uniform() * z_ >= static_cast<double>(points_.cost[i])) continue;
      const auto number = static_cast<std::uint32_t>(centres_.size());
      centres_.push_back(i);
      const float* const at = points_.point(i);
      cost_ -= over_points(
          [&](std::size_t, std::size_t j, std::size_t k) { return assign_nearer(points_, at, number, j, k); });
    }
  }
  /// Proposes points at random until a round of them wins less than that share.
  void improve(double share, const bounds& wanted) {
    const double most = 3 * static_cast<double>(wanted.k_most) * std::log(static_cast<double>(count_));
    const auto round = std::min(count_, static_cast<std::size_t>(most));
    for (double won = cost_; won > share * cost_;) {
      won = 0;
      for (std::size_t i = 0; i < round; ++i) won += propose(static_cast<std::uint32_t>(random_.below(count_)));
    }
  }
  /// Each point to its nearest centre: points of a centre that closed went to the new one, wherever others are.
  void settle() {
    const std::vector<std::uint32_t> own = centres_;
    all_to_first(own[0]);
    centres_ = own;
    for (std::uint32_t c = 1; c < own.size(); ++c) {
      const float* const at = points_.point(own[c]);
      cost_ -=
          over_points([&](std::size_t, std::size_t i, std::size_t j) { return assign_nearer(points_, at, c, i, j); });
    }
  }
  /// Proposes every point of a small batch, and exchanges it for each centre, until neither wins anything.
  void finish() {
    settle();
    if (count_ > small_batch) return;
    find_second();
    for (std::size_t idle = 0, i = 0; idle < count_; ++idle, i = (i + 1) % count_) {
      const auto x = static_cast<std::uint32_t>(i);
      if (propose(x) <= 0 && !exchange(x)) continue;
      idle = 0;
      settle();
      find_second();
    }
  }
  /// Searches once more from other first centres, and keeps the best result that has as many centres as wanted.
  void start_again(const bounds& wanted) {
    std::vector<std::uint32_t> best = centres_;
    const auto all_costs = [this] { return cost_ + z_ * static_cast<double>(centres_.size()); };
    double least = all_costs();
    for (int i = 0; i < more_starts; ++i) {
      least_ = 0;
      start(wanted);
      least_ = std::min(wanted.k_least, centres_.size());
      improve(0.001, wanted);
      finish();
      if (all_costs() >= least || centres_.size() < wanted.k_least || centres_.size() > wanted.k_most) continue;
      least = all_costs();
      best = centres_;
    }
    centres_ = std::move(best);
    settle();
  }
  void find_second() {
    second_.resize(count_);
    over_points([&](std::size_t, std::size_t i, std::size_t j) {
      second_nearest(points_, centres_, i, j, second_);
      return 0.0;
    });
  }
  /// Puts x in the place of the centre where that pays most. Where a proposal closes a centre, all of its points go to
  /// x; here they go wherever they cost least, which is more work.
  bool exchange(std::uint32_t x) {
    losses_.set_size(blocks_.size(), centres_.size());
    const double won = over_points([&](std::size_t b, std::size_t i, std::size_t j) {
      return exchange_gain(points_, points_.point(x), i, j, second_, losses_.begin(b));
    });
    const std::vector<double> lost = losses_.sums();
    const auto least = std::ranges::min_element(lost);
    if (won - *least <= 1e-6 * cost_) return false;  // more than what rounding to floats makes
    centres_[static_cast<std::size_t>(least - lost.begin())] = x;
    return true;
  }

  /// Opens a centre at a point if that pays. Returns what it won, costs of centres included.
  double propose(std::uint32_t x) {
    const std::size_t k = centres_.size();
    const float* const at = points_.point(x);
    losses_.set_size(blocks_.size(), k);
    double won = over_points(
        [&](std::size_t b, std::size_t i, std::size_t j) { return gain(points_, at, i, j, losses_.begin(b)); });
    won -= z_;
    const std::vector<double> losses = losses_.sums();
    std::vector<std::uint8_t> closing(k);
    std::vector<std::uint32_t> numbers(k);
    std::vector<std::uint32_t> open;
    double lost = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const double loss = losses[c];
      closing[c] = loss < z_ ? 1 : 0;
      if (closing[c] != 0) {
        won += z_ - loss;
        lost += 1;
      } else {
        numbers[c] = static_cast<std::uint32_t>(open.size());
        open.push_back(centres_[c]);
      }
    }
    if (won <= 0 || open.size() + 1 < least_) return 0;
    const auto number = static_cast<std::uint32_t>(open.size());
    open.push_back(x);
    centres_ = std::move(open);
    over_points([&](std::size_t, std::size_t i, std::size_t j) {
      reassign(points_, at, number, i, j, closing, numbers);
      return 0.0;
    });
    cost_ -= won + z_ - lost * z_;  // the centres' own costs are not the points'
    return won;
  }

  Loops& loops_;
  homing::regular_distribution<1> blocks_;
  points points_;
  std::size_t count_;
  random_numbers random_;
  std::vector<double> sums_;
  sums_by_centre losses_;
  std::vector<float> second_;  ///< what each point of a small batch costs at its nearest centre but one
  std::vector<std::uint32_t> centres_;
  double cost_ = 0;
  double z_ = 0;
  std::size_t least_ = 0;  ///< no fewer centres than that
};

}  // namespace streamcluster
