// The pinned runtime's way: parts stay in their domains, with their data there; and in an arena for each domain.
#include "../common/staying_threads.hpp"
#include "problem.hpp"

programs::variant_list programs::homing_pinned_variants() {
  return {{"homing-domain", "work sent to its home, which it does not leave, data enforced",
           measure<heat_program::solver<homing_parts<data_at::home>>, staying_threads>},
          {"homing-pinned", "the same, an arena for each domain",
           measure<heat_program::solver<pinned_parts>, tbb_threads>}};
}
