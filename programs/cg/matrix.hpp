// The sparse matrix of NAS CG, made as the specification says: a sum of outer products of random sparse vectors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../common/array.hpp"

namespace cg {

/// Rows in compressed form: row j has a[k] in column columns[k], begins[j] <= k < begins[j + 1], columns ascending.
struct matrix {
  programs::array<std::uint64_t> begins;
  programs::array<std::uint32_t> columns;
  programs::array<double> a;
};

/// One thread makes it, as one random sequence does. Errors: std::bad_alloc.
/// Source: NAS Parallel Benchmarks, RNR-94-007, section 2.2.1 and its appendix on makea.
[[nodiscard]] matrix make_matrix(std::size_t rows, std::size_t nonzeros, double shift);

}  // namespace cg
