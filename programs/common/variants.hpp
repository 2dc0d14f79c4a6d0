// The variants of a program, by the file of its folder that has them. A program defines those that it lists.
#pragma once

#include <initializer_list>
#include <vector>

#include "driver.hpp"
#include "threads.hpp"

namespace programs {

using variant_list = std::vector<variant>;

variant_list serial_variants();         // serial.cpp
variant_list tbb_variants();            // tbb.cpp: tbb, and where loops have a partitioner tbb-static, tbb-affinity
variant_list tbb_arenas_variants();     // tbb_arenas.cpp
variant_list openmp_variants();         // openmp.cpp: openmp, openmp-affinity
variant_list homing_variants();         // homing.cpp: homing, homing-placed
variant_list homing_pinned_variants();  // homing_pinned.cpp

/// The program's main(), with its variants in the order of the lists.
[[nodiscard]] int run_program(int argc, char** argv, const description& program,
                              std::initializer_list<variant_list> variants);

}  // namespace programs
