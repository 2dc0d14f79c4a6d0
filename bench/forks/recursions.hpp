// The recursive programs, each in any style: fib, integrate, n-queens, UTS, skynet, cilksort and a matrix product.
//
// Sources: Frigo, Leiserson, Randall 1998 (fib, queens, cilksort, matmul); libfork's and Lace's benchmarks (integrate,
// skynet); Olivier et al. 2006 (UTS).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "../common/uts_trees.hpp"
#include "styles.hpp"

namespace bench {

template <typename Style>
struct recursions {
  [[gnu::noinline]] static long fib(int n) {
    if (n < 2) return n;
    const auto [left, right] = Style::both([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return opaque_if_serial(left + right);
  }

  static double curve(double x) { return (x * x + 1.0) * x; }
  /// Of curve() over an interval, by the trapezoidal rule, halved until the area changes no more.
  [[gnu::noinline]] static double integrate(double x1, double y1, double x2, double y2, double area) {
    const double half = (x2 - x1) / 2;
    const double x0 = x1 + half;
    const double y0 = curve(x0);
    const double area_left = (y1 + y0) / 2 * half;
    const double area_right = (y0 + y2) / 2 * half;
    if (std::abs(area_left + area_right - area) < 1e-9) return area_left + area_right;
    const auto [left, right] = Style::both([=] { return integrate(x1, y1, x0, y0, area_left); },
                                           [=] { return integrate(x0, y0, x2, y2, area_right); });
    return opaque_if_serial(left + right);
  }

  /// Solutions from `row` on; queens are columns and diagonals as bit sets.
  [[gnu::noinline]] static std::uint64_t queens(unsigned size, unsigned row, unsigned columns, unsigned left,
                                                unsigned right) {
    if (row == size) return 1;
    const unsigned free = ((1U << size) - 1) & ~(columns | left | right);
    std::array<unsigned, 16> bits;
    std::array<std::uint64_t, 16> counts;
    std::size_t count = 0;
    for (unsigned rest = free; rest != 0; rest &= rest - 1) bits[count++] = rest & (~rest + 1);
    Style::children(count, [=, &bits, &counts](std::size_t i) {
      const unsigned bit = bits[i];
      counts[i] = queens(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    });
    return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
  }

  /// Nodes of the tree.
  template <typename Tree>
  [[gnu::noinline]] static std::uint64_t search(tree_node node) {
    const std::uint64_t children = Tree::children(node);
    if (children == 0) return 1;
    if (children > small_family) return search_large<Tree>(node, children);
    std::array<std::uint64_t, small_family> nodes;
    return search_into<Tree>(node, std::span(nodes.data(), children));
  }

  /// The sum of the numbers of all leaves.
  [[gnu::noinline]] static std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves) {
    constexpr std::size_t fan_out = 10;
    if (leaves == 1) return first;
    std::array<std::uint64_t, fan_out> sums;
    const std::uint64_t each = leaves / fan_out;
    Style::children(fan_out, [first, each, &sums](std::size_t i) { sums[i] = skynet(first + i * each, each); });
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  }

  /// Sorts by quarters, and merges by halves.
  [[gnu::noinline]] static void cilksort(std::span<std::uint32_t> data, std::span<std::uint32_t> room) {
    if (data.size() <= sort_leaf) return std::sort(data.begin(), data.end());
    const std::size_t half = data.size() / 2;
    const auto sort_half = [](std::span<std::uint32_t> d, std::span<std::uint32_t> r) {
      const std::size_t quarter = d.size() / 2;
      Style::each([=] { cilksort(d.first(quarter), r.first(quarter)); },
                  [=] { cilksort(d.subspan(quarter), r.subspan(quarter)); });
      merge(d.first(quarter), d.subspan(quarter), r);
    };
    Style::each([=] { sort_half(data.first(half), room.first(half)); },
                [=] { sort_half(data.subspan(half), room.subspan(half)); });
    merge(room.first(half), room.subspan(half), data);
  }

  /// c += a * b for squares of `size` within matrices whose rows are `stride` apart; size is a power of two.
  [[gnu::noinline]] static void multiply(const double* a, const double* b, double* c, std::size_t size,
                                         std::size_t stride) {
    if (size <= multiply_leaf) return multiply_block(a, b, c, size, stride);
    const std::size_t half = size / 2;
    const std::size_t below = half * stride;
    for (const std::size_t k : {std::size_t{0}, half}) {  // one after the other: both add to all of c
      const double* const a_k = a + k;
      const double* const b_k = b + k * stride;
      Style::each(
          [=] {
            Style::each([=] { multiply(a_k, b_k, c, half, stride); },
                        [=] { multiply(a_k, b_k + half, c + half, half, stride); });
          },
          [=] {
            Style::each([=] { multiply(a_k + below, b_k, c + below, half, stride); },
                        [=] { multiply(a_k + below, b_k + half, c + below + half, half, stride); });
          });
    }
  }

 private:
  static constexpr std::size_t small_family = 16;
  static constexpr std::size_t sort_leaf = 256;
  static constexpr std::size_t merge_leaf = 512;
  static constexpr std::size_t multiply_leaf = 16;

  template <typename Value>
  static Value opaque_if_serial(Value value) noexcept {
    if constexpr (std::is_same_v<Style, serial_calls>) return opaque(value);
    return value;
  }

  template <typename Tree>
  [[gnu::noinline]] static std::uint64_t search_large(tree_node node, std::uint64_t children) {
    std::vector<std::uint64_t> nodes(children);
    return search_into<Tree>(node, nodes);
  }
  template <typename Tree>
  static std::uint64_t search_into(tree_node node, std::span<std::uint64_t> nodes) {
    Style::children(nodes.size(), [node, nodes](std::size_t i) {
      nodes[i] = search<Tree>({child_state(node.state, i), node.depth + 1});
    });
    return std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{1});
  }

  [[gnu::noinline]] static void merge(std::span<const std::uint32_t> one, std::span<const std::uint32_t> other,
                                      std::span<std::uint32_t> into) {
    if (one.size() < other.size()) return merge(other, one, into);
    if (into.size() <= merge_leaf) {
      std::merge(one.begin(), one.end(), other.begin(), other.end(), into.begin());
      return;
    }
    const std::size_t middle = one.size() / 2;
    const auto cut =
        static_cast<std::size_t>(std::lower_bound(other.begin(), other.end(), one[middle]) - other.begin());
    Style::each([=] { merge(one.first(middle), other.first(cut), into.first(middle + cut)); },
                [=] { merge(one.subspan(middle), other.subspan(cut), into.subspan(middle + cut)); });
  }

  static void multiply_block(const double* a, const double* b, double* c, std::size_t size, std::size_t stride) {
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t inner = 0; inner < size; ++inner) {
        const double factor = a[row * stride + inner];
        for (std::size_t column = 0; column < size; ++column) {
          c[row * stride + column] += factor * b[inner * stride + column];
        }
      }
    }
  }
};

}  // namespace bench
