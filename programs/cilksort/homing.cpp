// Homing: parts sent to their domains, and its fork and join; homing-placed has the data moved there.
#include "problem.hpp"

programs::variant_list programs::homing_variants() {
  return {{"homing", "work sent to its home",
           measure<cilksort_program::solver<homing_parts<data_at::first_touch>>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced",
           measure<cilksort_program::solver<homing_parts<data_at::home>>, tbb_threads>}};
}
