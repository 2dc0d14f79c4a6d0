// C += A B for blocks that fit into the second cache: both packed, then multiplied in tiles that stay in registers.
// Source: Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
#pragma once

#include <cstddef>

namespace matmul {

/// At most so many rows and columns of C, and columns of A.
inline constexpr std::size_t rows_max = 96;
inline constexpr std::size_t columns_max = 240;
inline constexpr std::size_t depth_max = 240;

/// Row-major, rows `stride` apart. Threads: any, on different blocks of C; each has packing room of its own.
void multiply_leaf(std::size_t rows, std::size_t columns, std::size_t depth, const double* a, const double* b,
                   double* c, std::size_t stride) noexcept;

}  // namespace matmul
