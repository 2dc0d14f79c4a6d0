// One thread.
#include "problem.hpp"

programs::variant_list programs::serial_variants() {
  return {{"serial", "one thread", measure<cilksort_program::solver<serial_parts>, one_thread>}};
}
