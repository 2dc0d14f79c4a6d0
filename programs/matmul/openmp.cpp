// OpenMP's tasks; with places, those of the parts name their data.
#include "problem.hpp"

programs::variant_list programs::openmp_variants() {
  return {{"openmp", "tasks", measure<matmul_program::solver<openmp_parts<binding::none>>, openmp_threads>},
          {"openmp-affinity", "the same with OMP_PLACES, proc_bind and affinity clauses",
           measure<matmul_program::solver<openmp_parts<binding::places>>, openmp_threads>}};
}
