// C++17 parallel algorithms as GCC ships them, over seeded arrays. It knows nothing of Homing: Debian's
// compiler, Debian's headers. Each line of output is `name value`; a value ending in `~` is a rounded
// floating-point sum, whose last digits may depend on the order of the additions.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <execution>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using words = std::vector<std::uint64_t>;

/// FNV-1a over whole words: any change of a value or of the order changes it.
std::uint64_t checksum(const words& values) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::uint64_t value : values) hash = (hash ^ value) * 1099511628211ULL;
  return hash;
}

void print(const char* name, std::uint64_t value) {
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(value));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto par = std::execution::par;

  std::mt19937_64 random(seed);
  words input(count);
  std::generate(input.begin(), input.end(), std::ref(random));
  words other(count / 2);
  std::generate(other.begin(), other.end(), [&] { return random() % count; });

  const auto start = std::chrono::steady_clock::now();

  words sorted = input;
  std::sort(par, sorted.begin(), sorted.end());

  words by_low_byte = input;  // few distinct keys, so that stability shows
  std::stable_sort(par, by_low_byte.begin(), by_low_byte.end(),
                   [](std::uint64_t a, std::uint64_t b) { return (a & 0xff) < (b & 0xff); });

  const std::uint64_t mixed = std::transform_reduce(par, input.begin(), input.end(), std::uint64_t{0}, std::plus<>{},
                                                    [](std::uint64_t value) { return (value >> 7) * (value | 1); });
  const double sum =
      std::transform_reduce(par, input.begin(), input.end(), 0.0, std::plus<>{},
                            [](std::uint64_t value) { return static_cast<double>(value >> 11) * 0x1p-53; });

  words inclusive(count);
  std::inclusive_scan(par, input.begin(), input.end(), inclusive.begin());
  words exclusive(count);
  std::exclusive_scan(par, input.begin(), input.end(), exclusive.begin(), seed);

  words parted = input;
  const auto middle =
      std::partition(par, parted.begin(), parted.end(), [](std::uint64_t value) { return value % 3 == 0; });
  const auto thirds = static_cast<std::uint64_t>(middle - parted.begin());

  words repeated = other;
  std::sort(par, repeated.begin(), repeated.end());
  repeated.erase(std::unique(par, repeated.begin(), repeated.end()), repeated.end());

  words merged(sorted.size() + repeated.size());
  std::merge(par, sorted.begin(), sorted.end(), repeated.begin(), repeated.end(), merged.begin());

  words kept(count);
  kept.erase(
      std::copy_if(par, input.begin(), input.end(), kept.begin(), [](std::uint64_t value) { return (value & 3) == 1; }),
      kept.end());

  const auto largest = std::max_element(par, input.begin(), input.end()) - input.begin();
  const auto odd = std::count_if(par, input.begin(), input.end(), [](std::uint64_t value) { return (value & 1) != 0; });

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  print("sort", checksum(sorted));
  print("stable_sort", checksum(by_low_byte));
  print("transform_reduce", mixed);
  std::printf("transform_reduce_double %.17g~\n", sum);
  print("inclusive_scan", checksum(inclusive));
  print("exclusive_scan", checksum(exclusive));
  print("partition", thirds);
  print("unique", checksum(repeated));
  print("merge", checksum(merged));
  print("copy_if", checksum(kept));
  print("max_element", static_cast<std::uint64_t>(largest));
  print("count_if", static_cast<std::uint64_t>(odd));
  std::printf("seconds %.6f\n", seconds.count());
}
