// A user's program on libhoming: says which version it runs on, and deals ten indices over one domain.
#include <homing/distribution.hpp>
#include <homing/version.hpp>

#include <cstdio>

int main() {
  const homing::regular_distribution all = homing::block(10, homing::domain_set::first(1));
  return std::printf("libhoming %s\n", homing::version()) < 0 || all.home_of(9) != homing::domain_index{0};
}
