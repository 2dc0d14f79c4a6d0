#include "guest.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace homing::lab::probes {
namespace {

constexpr int mpol_bind = 2, mpol_interleave = 3;  // of <linux/mempolicy.h>
constexpr unsigned nodes_max = 1024;

std::string read_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(2);
}

std::vector<unsigned> parse_list(const std::string& text) {
  std::vector<unsigned> result;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    unsigned first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%u-%u", &first, &last);
    if (read == 1) last = first;
    for (unsigned i = first; read >= 1 && i <= last; ++i) result.push_back(i);
  }
  return result;
}

std::vector<unsigned> nodes_with_memory() {
  auto nodes = parse_list(read_line("/sys/devices/system/node/has_memory"));
  if (nodes.empty()) fail("found no node with memory in /sys/devices/system/node; expected sysfs at /sys");
  return nodes;
}

std::vector<unsigned> nodes_with_cpus() { return parse_list(read_line("/sys/devices/system/node/has_cpu")); }

std::vector<unsigned> cpus_of(unsigned node) {
  return parse_list(read_line("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist"));
}

void run_on(unsigned cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  CPU_ZERO_S(CPU_ALLOC_SIZE(cpu + 1), set);
  CPU_SET_S(cpu, CPU_ALLOC_SIZE(cpu + 1), set);
  const int result = sched_setaffinity(0, CPU_ALLOC_SIZE(cpu + 1), set);
  CPU_FREE(set);
  if (result != 0) fail("can't run on CPU " + std::to_string(cpu) + ": " + std::strerror(errno));
}

node_memory::node_memory(std::size_t bytes, const std::vector<unsigned>& nodes)
    : bytes_((bytes + page_bytes - 1) / page_bytes * page_bytes) {
  // A page behind it that nobody may touch: else the kernel joins neighbours, and numa_maps counts them as one.
  void* const p = mmap(nullptr, bytes_ + page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || mprotect(p, bytes_, PROT_READ | PROT_WRITE) != 0) {
    fail("no address space for " + std::to_string(bytes_) + " bytes");
  }
  data_ = static_cast<char*>(p);
  madvise(data_, bytes_, MADV_NOHUGEPAGE);
  if (nodes.empty()) return;
  unsigned long mask[nodes_max / 64] = {};
  for (const unsigned node : nodes) mask[node / 64] |= 1UL << (node % 64);
  const int mode = nodes.size() == 1 ? mpol_bind : mpol_interleave;
  if (syscall(SYS_mbind, data_, bytes_, mode, mask, nodes_max + 1, 0) != 0) {
    fail(std::string("mbind is refused here (") + std::strerror(errno) +
         "); expected a kernel with NUMA and no sandbox");
  }
}

node_memory::~node_memory() { munmap(data_, bytes_ + page_bytes); }

void node_memory::touch() {
  for (std::size_t at = 0; at != bytes_; at += page_bytes) static_cast<volatile char*>(data_)[at] = 1;
}

std::vector<std::uint64_t> node_memory::pages_by_node() const {
  std::ifstream maps("/proc/self/numa_maps");
  char start[32];
  std::snprintf(start, sizeof start, "%lx", reinterpret_cast<unsigned long>(data_));
  std::vector<std::uint64_t> pages;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word != start) continue;
    while (words >> word) {
      unsigned node = 0;
      unsigned long count = 0;
      if (std::sscanf(word.c_str(), "N%u=%lu", &node, &count) != 2) continue;
      if (pages.size() <= node) pages.resize(node + 1, 0);
      pages[node] += count;
    }
  }
  return pages;
}

}  // namespace homing::lab::probes
