// TBB: a loop over the parts, and parallel_invoke.
#include "problem.hpp"

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "parallel_invoke", measure<cilksort_program::solver<tbb_parts>, tbb_threads>}};
}
