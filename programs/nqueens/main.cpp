// The program: its problem's name and sizes, and the files that have its variants.
#include "problem.hpp"

int main(int argc, char** argv) {
  using namespace programs;
  return run_program(argc, argv, nqueens::about(),
                     {serial_variants(), tbb_variants(), openmp_variants(), homing_variants()});
}
