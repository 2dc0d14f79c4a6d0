// The program: its problem's name and sizes, and the files that have its variants.
#include "problem.hpp"

int main(int argc, char** argv) {
  using namespace programs;
  return run_program(argc, argv, transpose_program::about(),
                     {serial_variants(), tbb_variants(), tbb_arenas_variants(), openmp_variants(), homing_variants(),
                      homing_pinned_variants()});
}
