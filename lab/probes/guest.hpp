/// What the probes share: nodes and CPUs as Linux tells them, memory bound to a node, threads bound to a CPU. Raw
/// system calls, so that a probe runs in a guest that has nothing but the C library, and on any real machine.
///
/// Errors: a probe that can't do what it is for says so on stderr and exits with 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace homing::lab::probes {

/// Ends the program: "PROBE: what, expected, what to do".
[[noreturn]] void fail(const std::string& what);

/// "0-2,5" as Linux writes lists.
[[nodiscard]] std::vector<unsigned> parse_list(const std::string& text);
/// Linux's ids of nodes that have memory, and those that have CPUs.
[[nodiscard]] std::vector<unsigned> nodes_with_memory();
[[nodiscard]] std::vector<unsigned> nodes_with_cpus();
/// The CPUs of a node that are online.
[[nodiscard]] std::vector<unsigned> cpus_of(unsigned node);
/// The calling thread runs there from now on.
void run_on(unsigned cpu);

/// Memory of given nodes: bound to one, or interleaved over several; none: where it is touched first. Ordinary pages
/// (no huge ones), untouched.
class node_memory {
 public:
  node_memory(std::size_t bytes, const std::vector<unsigned>& nodes);
  node_memory(const node_memory&) = delete;
  node_memory& operator=(const node_memory&) = delete;
  ~node_memory();

  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  /// Writes a byte of every page, so that it is there.
  void touch();
  /// Pages on each node, by /proc/self/numa_maps: what the kernel says.
  [[nodiscard]] std::vector<std::uint64_t> pages_by_node() const;

 private:
  std::size_t bytes_;
  char* data_;
};

inline constexpr std::size_t page_bytes = 4096, line_bytes = 64;

}  // namespace homing::lab::probes
