/// mbind(2) for fresh ranges, and the files that name the nodes one may use.
#include "platform/memory_policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

namespace homing::platform {
namespace {

std::vector<int> read_id_list(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return parse_id_list(line.c_str());
}

std::vector<int> allowed_by_cpuset() {
  std::ifstream file("/proc/self/status");
  const std::string field = "Mems_allowed_list:";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, field.size(), field) == 0) {
      return parse_id_list(line.c_str() + field.size());
    }
  }
  return {};
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

std::vector<int> parse_id_list(const char* text) {
  std::vector<int> ids;
  for (const char* at = text;;) {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    if (end == at || first < 0) {
      return ids;
    }
    long last = first;
    at = end;
    if (*at == '-') {
      last = std::strtol(at + 1, &end, 10);
      if (end == at + 1) {
        return ids;
      }
      at = end;
    }
    constexpr long id_max = 1 << 20;  // far above any kernel's limit; keeps a broken line from filling memory
    for (long id = first; id <= std::min(last, id_max); ++id) {
      ids.push_back(static_cast<int>(id));
    }
    if (*at != ',') {
      return ids;
    }
    ++at;
  }
}

std::vector<int> default_memory_nodes() {
  // A node without CPUs (a memory tier) is used when named, never by default.
  const std::vector<int> usable =
      common(read_id_list("/sys/devices/system/node/has_memory"), read_id_list("/sys/devices/system/node/has_cpu"));
  return common(allowed_by_cpuset(), usable);
}

int interleave_untouched(void* address, std::size_t bytes, std::span<const int> nodes) noexcept {
  constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
  try {
    std::vector<unsigned long> mask;
    for (const int node : nodes) {
      const std::size_t word = static_cast<std::size_t>(node) / word_bits;
      mask.resize(std::max(mask.size(), word + 1));
      mask[word] |= 1UL << (static_cast<std::size_t>(node) % word_bits);
    }
    // The raw call reads one bit less than it is told: bits + 1.
    const long result = ::syscall(SYS_mbind, address, bytes, MPOL_INTERLEAVE, mask.data(),
                                  mask.size() * word_bits + 1, 0U);
    return result == 0 ? 0 : errno;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace homing::platform
