// The pinned runtime's way: parts pinned to their domains, with their data there.
#include "problem.hpp"

programs::variant_list programs::homing_pinned_variants() {
  return {{"homing-pinned", "work pinned to its home, data enforced",
           measure<transpose_program::solver<pinned_parts>, tbb_threads>}};
}
