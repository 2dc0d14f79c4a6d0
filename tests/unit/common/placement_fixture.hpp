/// What the placement tests on the real kernel share: memory of every kind, the kernel's own listing, and machines.
#pragma once

#include <homing/placement.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "platform/cpu_set.hpp"
#include "topology/snapshot.hpp"
#include "unit/common/topology_fixture.hpp"

namespace homing::testing {

/// Pages of its own: a mapping between two that can't be read, so that it never merges with another.
class own_memory {
 public:
  explicit own_memory(std::size_t pages, int kind = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1)
      : bytes_(pages * page_bytes()) {
    const std::size_t room = bytes_ + 2 * align;
    room_ = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    room_bytes_ = room;
    const auto start = reinterpret_cast<std::uintptr_t>(room_);
    auto* const at = reinterpret_cast<void*>((start + align) / align * align);
    data_ = ::mmap(at, bytes_, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0);
    if (is_there()) ::madvise(data_, bytes_, MADV_NOHUGEPAGE);  // a test that wants huge pages asks for them
  }
  own_memory(const own_memory&) = delete;
  own_memory& operator=(const own_memory&) = delete;
  ~own_memory() { ::munmap(room_, room_bytes_); }
  [[nodiscard]] bool is_there() const { return data_ != MAP_FAILED; }
  [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(data_); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] std::size_t pages() const { return bytes_ / page_bytes(); }
  [[nodiscard]] std::span<unsigned char> span() const { return {data(), bytes_}; }
  [[nodiscard]] memory_range range() const { return {data_, bytes_}; }

 private:
  static constexpr std::size_t align = std::size_t{2} << 20;
  std::size_t bytes_;
  std::size_t room_bytes_ = 0;
  void* room_ = nullptr;
  void* data_ = nullptr;
};

inline void fill(std::span<unsigned char> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 31 / 7);
}
inline ::testing::AssertionResult is_filled(std::span<const unsigned char> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<unsigned char>(i * 31 / 7)) return ::testing::AssertionFailure() << "byte " << i;
  }
  return ::testing::AssertionSuccess();
}

/// Of the mappings that begin in a range: pages on each node, and the policy of the first, as numa_maps has them.
struct listing {
  std::map<int, std::size_t> on;
  std::string policy;
};
inline listing list(const memory_range& range) {
  listing result;
  const auto first = reinterpret_cast<std::uintptr_t>(range.address());
  std::ifstream file("/proc/self/numa_maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uintptr_t at = 0;
    std::string policy;
    words >> std::hex >> at >> policy >> std::dec;
    if (at < first || at >= first + range.bytes()) continue;
    if (result.policy.empty()) result.policy = policy;
    std::map<int, std::size_t> here;
    std::size_t factor = 1;
    for (std::string word; words >> word;) {
      int node = 0;
      std::size_t count = 0;
      if (std::sscanf(word.c_str(), "N%d=%zu", &node, &count) == 2) here[node] += count;
      if (std::sscanf(word.c_str(), "kernelpagesize_kB=%zu", &count) == 1) factor = count * 1024 / page_bytes();
    }
    for (const auto& [node, count] : here) result.on[node] += count * factor;
  }
  return result;
}
/// The same of a census.
inline std::map<int, std::size_t> on_nodes(const page_census& census) {
  std::map<int, std::size_t> result;
  for (const node_pages& n : census.nodes) result[to_number(n.node)] = n.pages;
  return result;
}

/// Makes a machine current for a while: two nodes, on CPUs 0 and 1 of this computer, of which it may have but one node.
/// Pages of the second domain then have a home that the kernel knows nothing of, which every answer must tell.
class two_node_claim {
 public:
  two_node_claim() {
    const platform::cpu_set mask{cpu_id{0}, cpu_id{1}};
    const platform::node_set memory{node_id{0}, node_id{1}};
    topology::set_current(topology::make_snapshot(topology::testing::read_or_fail(
        topology::testing::claimed({.from = topology::source::origin::synthetic, .text = "node:2 core:1 pu:1"},
                                   {.mask = mask, .memory_nodes = memory}))));
  }
  ~two_node_claim() { topology::refresh(); }
  two_node_claim(const two_node_claim&) = delete;
  two_node_claim& operator=(const two_node_claim&) = delete;
  /// Whether this computer is fit: CPUs 0 and 1, and node 0 alone.
  [[nodiscard]] static bool is_possible() {
    const auto mask = platform::get_affinity().mask;
    const topology::snapshot real = topology::current();
    return mask.contains(cpu_id{0}) && mask.contains(cpu_id{1}) && real.nodes().size() == 1 &&
           real.nodes().front().id == node_id{0} && !real.is_virtual();
  }
};

inline std::size_t refused(const placement_report& r, refusal_cause cause) {
  std::size_t pages = 0;
  for (const refusal_count& c : r.refused) pages += c.cause == cause ? c.pages : 0;
  return pages;
}
inline void expect_adds_up(const placement_report& r) {
  std::size_t sum = r.placed + r.later + r.unknown;
  for (const refusal_count& c : r.refused) sum += c.pages;
  EXPECT_EQ(r.asked, sum) << r.describe();
}

}  // namespace homing::testing
