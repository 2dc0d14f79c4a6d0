// Cilksort: a merge sort whose merges are parallel, too. Each domain sorts its block; then domains merge in pairs, each
// making its own part of the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../../bench/common/work.hpp"
#include "../common/recursion.hpp"
#include "../common/variants.hpp"

namespace cilksort_program {

using namespace programs;

inline constexpr size_name sizes[] = {{"small", "100,000 numbers"}, {"medium", "4 million"}, {"large", "64 million"}};
inline constexpr std::size_t counts[] = {100'000, 4'000'000, 64'000'000};
inline constexpr std::size_t sorted_alone = 4096;
inline constexpr std::size_t merged_alone = 8192;

/// A sorted run.
struct run_of {
  const std::int32_t* first;
  const std::int32_t* last;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

/// How many of the first `rank` numbers of two runs' merger come from `a`; where numbers are equal, `a` comes first.
inline std::size_t taken_of(const run_of& a, const run_of& b, std::size_t rank) {
  std::size_t least = rank > b.size() ? rank - b.size() : 0;
  std::size_t most = std::min(rank, a.size());
  while (least < most) {
    const std::size_t middle = (least + most) / 2;
    if (b.first[rank - middle - 1] < a.first[middle]) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

template <class Deal>
class solver {
 public:
  explicit solver(const request& r)
      : deal_(r.threads),
        all_(homing::block(counts[r.size])),
        seed_(r.seed),
        numbers_(all_.size()),
        other_(all_.size()) {
    reset();
    place_home(all_, numbers_);
    place_home(all_, other_);
  }
  void reset() {
    result_ = numbers_.data();
    deal_.over(all_, [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        numbers_[i] = value(i);
        other_[i] = 0;
      }
    });
  }
  void run() {
    deal_.root([this] { sort_all(); });
  }
  [[nodiscard]] std::string wrong() const {
    std::vector<std::int32_t> expected(all_.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = value(i);
    std::ranges::sort(expected);
    return std::equal(expected.begin(), expected.end(), result_) ? "" : "not the numbers in order";
  }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {numbers_.range(), other_.range()}; }
  /// Millions of numbers.
  [[nodiscard]] double amount() const { return static_cast<double>(all_.size()) / 1e6; }

  [[nodiscard]] migration moved() const { return moved_; }

 private:
  template <class Dist, class T>
  void place_home(const Dist& homes, array<T>& data) {
    if constexpr (Deal::places) place(homes, data, moved_);
  }
  [[nodiscard]] std::int32_t value(std::size_t i) const {
    return static_cast<std::int32_t>(bench::mix(i ^ seed_ << 32));
  }
  [[nodiscard]] interval block(std::uint32_t p) const { return share_of(all_.size(), part_count(), p); }

  void sort_all() {
    std::int32_t* from = numbers_.data();
    std::int32_t* to = other_.data();
    const auto data = [&](std::uint32_t p) { return from + block(p).first; };
    deal_.over_parts(
        [&](std::uint32_t p) {
          const interval mine = block(p);
          sort(homing::domain_index{p}, from + mine.first, to + mine.first, mine.size());
        },
        data);
    for (std::uint32_t width = 1; width < part_count(); width *= 2) {
      deal_.over_parts([&](std::uint32_t p) { merge_part(from, to, p, width); }, data);
      std::swap(from, to);
    }
    result_ = from;
  }

  // Sorts numbers of that home in place; `spare` is as long. Work is counted where a thread does it, for others may
  // steal it.
  void sort(homing::domain_index home, std::int32_t* numbers, std::int32_t* spare, std::size_t count) {
    if (count <= sorted_alone) {
      count_work(home, count);
      std::sort(numbers, numbers + count);
      return;
    }
    const std::size_t cut[] = {0, count / 4, count / 2, count / 2 + count / 4, count};
    const auto quarter = [&](int q) { sort(home, numbers + cut[q], spare + cut[q], cut[q + 1] - cut[q]); };
    deal_.both([&] { deal_.both([&] { quarter(0); }, [&] { quarter(1); }); },
               [&] { deal_.both([&] { quarter(2); }, [&] { quarter(3); }); });
    const auto half = [&](int q) {
      merge(home, {numbers + cut[q], numbers + cut[q + 1]}, {numbers + cut[q + 1], numbers + cut[q + 2]},
            spare + cut[q]);
    };
    deal_.both([&] { half(0); }, [&] { half(2); });
    merge(home, {spare, spare + cut[2]}, {spare + cut[2], spare + count}, numbers);
  }

  // Halved by the rank of the result, which has that home.
  void merge(homing::domain_index home, const run_of& a, const run_of& b, std::int32_t* result) {
    const std::size_t count = a.size() + b.size();
    if (count <= merged_alone) {
      count_work(home, count);
      std::merge(a.first, a.last, b.first, b.last, result);
      return;
    }
    const std::size_t of_a = taken_of(a, b, count / 2);
    const std::size_t of_b = count / 2 - of_a;
    deal_.both(
        [&] {
          merge(home, {a.first, a.first + of_a}, {b.first, b.first + of_b}, result);
        },
        [&] {
          merge(home, {a.first + of_a, a.last}, {b.first + of_b, b.last}, result + count / 2);
        });
  }

  // The p-th block of the result of a round: runs are `width` blocks long, and two of them become one.
  void merge_part(const std::int32_t* from, std::int32_t* to, std::uint32_t p, std::uint32_t width) {
    const std::uint32_t parts = part_count();
    const std::uint32_t group = p / (2 * width) * (2 * width);
    const std::size_t first = block(group).first;
    const std::size_t middle = block(std::min(group + width, parts) - 1).last;
    const std::size_t last = block(std::min(group + 2 * width, parts) - 1).last;
    const run_of a{from + first, from + middle};
    const run_of b{from + middle, from + last};
    const interval mine = block(p);
    const std::size_t a0 = taken_of(a, b, mine.first - first);
    const std::size_t a1 = taken_of(a, b, mine.last - first);
    const std::size_t b0 = mine.first - first - a0;
    const std::size_t b1 = mine.last - first - a1;
    merge(homing::domain_index{p}, {a.first + a0, a.first + a1}, {b.first + b0, b.first + b1}, to + mine.first);
  }

  Deal deal_;
  migration moved_;
  homing::regular_distribution<1> all_;
  std::uint64_t seed_;
  array<std::int32_t> numbers_, other_;
  const std::int32_t* result_ = nullptr;
};

[[nodiscard]] inline programs::description about() noexcept {
  return {"cilksort", "A merge sort with parallel merges.", "Mnumber", sizes};
}

}  // namespace cilksort_program
