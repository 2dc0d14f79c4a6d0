// A user's program on libhoming: says which version it runs on.
#include <homing/version.hpp>

#include <cstdio>

int main() { return std::printf("libhoming %s\n", homing::version()) < 0; }
