// OpenBLAS's own matrix product, to compare with.
#include "problem.hpp"

programs::variant_list matmul_program::openblas_variants() {
  return {{"openblas", "the library's own, with that many threads",
           programs::measure<solver<openblas_parts>, programs::one_thread>}};
}
