// A task_arena for each NUMA node, with that node's parts: oneTBB's advice.
#include "problem.hpp"

programs::variant_list programs::tbb_arenas_variants() {
  return {
      {"tbb-arenas", "one task_arena for each NUMA node", measure<transpose_program::solver<arena_parts>, tbb_limit>}};
}
