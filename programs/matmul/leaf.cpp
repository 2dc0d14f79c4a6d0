#include "leaf.hpp"

#include <algorithm>
#include <cstring>

namespace matmul {
namespace {

// Four doubles, one AVX register; a tile of C is 4 x 12: twelve registers, and four for A and B.
using four = double __attribute__((vector_size(32)));
constexpr std::size_t tile_rows = 4;
constexpr std::size_t tile_columns = 12;
constexpr std::size_t tile_vectors = tile_columns / 4;

struct room {
  alignas(64) double a[rows_max * depth_max];
  alignas(64) double b[columns_max * depth_max];
};

constexpr std::size_t up(std::size_t n, std::size_t tile) { return (n + tile - 1) / tile * tile; }

// Strips as high (or wide) as a tile, element by element along the depth; what is missing is 0.
void pack_a(const double* a, std::size_t rows, std::size_t depth, std::size_t stride, double* to) {
  for (std::size_t i = 0; i < rows; i += tile_rows) {
    for (std::size_t k = 0; k < depth; ++k) {
      for (std::size_t r = 0; r < tile_rows; ++r) *to++ = i + r < rows ? a[(i + r) * stride + k] : 0;
    }
  }
}
void pack_b(const double* b, std::size_t columns, std::size_t depth, std::size_t stride, double* to) {
  for (std::size_t j = 0; j < columns; j += tile_columns) {
    const std::size_t width = std::min(tile_columns, columns - j);
    for (std::size_t k = 0; k < depth; ++k, to += tile_columns) {
      std::copy_n(b + k * stride + j, width, to);
      std::fill(to + width, to + tile_columns, 0.0);
    }
  }
}

inline void multiply_tile(std::size_t depth, const double* a, const double* b, four (&sum)[tile_rows][tile_vectors]) {
  for (std::size_t k = 0; k < depth; ++k, a += tile_rows, b += tile_columns) {
    four of_b[tile_vectors];
    std::memcpy(of_b, b, sizeof of_b);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const four of_a = {a[r], a[r], a[r], a[r]};
      for (std::size_t v = 0; v < tile_vectors; ++v) sum[r][v] += of_a * of_b[v];
    }
  }
}

}  // namespace

void multiply_leaf(std::size_t rows, std::size_t columns, std::size_t depth, const double* a, const double* b,
                   double* c, std::size_t stride) noexcept {
  thread_local room own;
  pack_a(a, rows, depth, stride, own.a);
  pack_b(b, columns, depth, stride, own.b);
  for (std::size_t j = 0; j < columns; j += tile_columns) {
    for (std::size_t i = 0; i < up(rows, tile_rows); i += tile_rows) {
      four sum[tile_rows][tile_vectors] = {};
      multiply_tile(depth, own.a + i * depth, own.b + j * depth, sum);
      const std::size_t width = std::min(tile_columns, columns - j);
      for (std::size_t r = 0; r < std::min(tile_rows, rows - i); ++r) {
        double line[tile_columns];
        std::memcpy(line, sum[r], sizeof line);
        double* const to = c + (i + r) * stride + j;
        for (std::size_t v = 0; v < width; ++v) to[v] += line[v];
      }
    }
  }
}

}  // namespace matmul
