// Streamcluster: points come in batches; each batch is clustered and leaves its centres, with the weight of their
// points; in the end the centres of all batches are clustered. Gains are computed in parallel (TBB-NUMA, section 5).
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/variants.hpp"
#include "search.hpp"

namespace streamcluster {

using programs::array;
using programs::request;

struct input {
  bounds wanted;
  std::size_t dims;
  std::size_t points;
  std::size_t batch;
};

/// How many of its numbers each point of a batch has: where the elements of an array belong, in blocks of points.
[[nodiscard]] inline homing::regular_distribution<1> homes_of(std::size_t count, std::size_t numbers) {
  return homing::block(count * numbers, homing::domain_set::all(), points_a_block * numbers);
}

/// Points, weights, owners and costs of one search, in memory that the variant has made.
struct batch {
  float* at;
  float* weight;
  std::uint32_t* owner;
  float* cost;
  std::size_t count;
  std::size_t dims;
  [[nodiscard]] points all() const { return {at, weight, owner, cost, dims}; }

  /// What the loops write to is touched as they are dealt; points and weights are read by one thread.
  template <class Loops>
  void touch(Loops& loops) const {
    loops.over(homing::block((count + points_a_block - 1) / points_a_block),
               [this](std::size_t first, std::size_t last) {
                 for (std::size_t i = first * points_a_block; i < std::min(count, last * points_a_block); ++i) {
                   owner[i] = 0;
                   cost[i] = 0;
                 }
               });
  }
};

/// The stream, how it is clustered, and what is known of the result.
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] std::size_t dims() const { return input_.dims; }
  [[nodiscard]] std::size_t points_a_batch() const { return input_.batch; }
  /// Centres that all batches leave at most, with room for the search's first ones.
  [[nodiscard]] std::size_t centres_most() const { return input_.points / input_.batch * input_.wanted.k_most * 4; }
  void see(const batch& now, const batch& centres) { now_ = now, centres_ = centres; }

  void forget() {
    left_ = 0;
    final_.clear();
  }
  template <class Loops>
  void run(Loops& loops) {
    const std::size_t batches = input_.points / input_.batch;
    for (std::size_t b = 0; b < batches; ++b) {
      read_batch(b);
      search<Loops> s(loops, now_.all(), input_.batch, request_.seed + b);
      cost_ = s.run(input_.wanted);
      z_ = s.z();
      keep_centres(s.centres());
    }
    if (batches == 1) {  // its centres are the result
      for (std::size_t c = 0; c < left_; ++c) take(c);
      return;
    }
    search<Loops> s(loops, centres_.all(), left_, request_.seed);
    cost_ = s.run(input_.wanted);
    for (const std::uint32_t c : s.centres()) take(c);
  }

  [[nodiscard]] std::string wrong() const;
  [[nodiscard]] std::vector<homing::memory_range> data() const;
  /// Thousands of points.
  [[nodiscard]] double amount() const { return static_cast<double>(input_.points) / 1e3; }

 private:
  void read_batch(std::size_t b);
  void keep_centres(const std::vector<std::uint32_t>& found);
  void take(std::size_t centre) {
    const float* const at = centres_.all().point(centre);
    final_.insert(final_.end(), at, at + input_.dims);
  }

  request request_;
  const input& input_;
  array<float> stream_;
  batch now_{};
  batch centres_{};
  std::size_t left_ = 0;  ///< centres of all batches so far
  double cost_ = 0;
  double z_ = 0;
  std::vector<float> final_;
};

/// A batch in plain pages.
struct batch_in_pages {
  batch_in_pages(std::size_t count, std::size_t dims)
      : at(count * dims), weight(count), owner(count), cost(count), seen{at.data(),   weight.data(), owner.data(),
                                                                         cost.data(), count,         dims} {}
  array<float> at;
  array<float> weight;
  array<std::uint32_t> owner;
  array<float> cost;
  batch seen;
};

/// A problem whose batches are in memory of that kind.
template <class Batch>
class solver_in {
 public:
  explicit solver_in(const request& r)
      : p_(r), now_(p_.points_a_batch(), p_.dims()), centres_(p_.centres_most(), p_.dims()) {
    p_.see(now_.seen, centres_.seen);
  }
  void reset() { p_.forget(); }
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }

 protected:
  template <class Loops>
  void touch(Loops& loops) {
    now_.seen.touch(loops);
    centres_.seen.touch(loops);
  }
  problem p_;

 private:
  Batch now_;
  Batch centres_;
};
using solver_in_pages = solver_in<batch_in_pages>;

[[nodiscard]] programs::description about() noexcept;

}  // namespace streamcluster
