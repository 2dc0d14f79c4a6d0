// Runs one variant: touch, sweep, time, count, and compare with a serial run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "options.hpp"

namespace jacobi {

struct measurement {
  std::vector<double> mlups;  ///< of each repetition, ascending
  std::uint64_t processed;    ///< blocks in the timed sweeps
  std::uint64_t at_home;
  bool identical;  ///< with the serial run, bit by bit; true if it was not asked for
};

/// The array after all sweeps of a run, swept by one thread. Throws std::bad_alloc.
[[nodiscard]] fresh_array serial_result(const options& o);
/// `expected` may be null: no comparison. Throws std::bad_alloc. Blocks that were lost or done twice end the process
/// with 3.
[[nodiscard]] measurement measure(const variant& v, const options& o, const fresh_array* expected);

}  // namespace jacobi
