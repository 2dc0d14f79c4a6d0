// The program: its problem's name and sizes, and the files that have its variants.
#include "problem.hpp"

int main(int argc, char** argv) {
  using namespace programs;
  using namespace jacobi_program;
  return run_program(
      argc, argv, about(),
      {serial_variants(), tbb_variants(), tbb_arenas_variants(), openmp_variants(), openmp_queues_variants(),
       homing_variants(), homing_queues_variants(), homing_nt_variants(), homing_temporal_variants()});
}
