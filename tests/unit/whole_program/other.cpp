#include "unit/whole_program/other.hpp"

#include <homing/fork_join.hpp>

long fibonacci_elsewhere(int n) {
  if (n < 2) {
    return n;
  }
  const auto [left, right] =
      homing::fork_join([n] { return fibonacci_elsewhere(n - 1); }, [n] { return fibonacci_elsewhere(n - 2); });
  return left + right;
}
