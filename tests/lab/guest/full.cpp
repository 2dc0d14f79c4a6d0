// full [sandbox]: one node has no memory left. What enforce() says, for on_refusal::degrade and fail, is what the
// kernel says; a memory resource spills to other nodes or throws std::bad_alloc, as asked.
#include <homing/memory_resource.hpp>
#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

#include "memory.hpp"
#include "truth.hpp"
#include "unit/common/system_call_filter.hpp"

using namespace homing;
using namespace guest;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// MemFree of a node.
std::size_t free_bytes(node_id node) {
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(to_number(node)) + "/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (const auto at = line.find("MemFree:"); at != std::string::npos) return std::stoul(line.substr(at + 8)) * 1024;
  }
  give_up("no meminfo of the node");
}

/// Takes a node's memory until `left` bytes or less are free, and keeps it.
class hog {
 public:
  hog(node_id node, std::size_t left) {
    constexpr std::size_t step = 4 * mib;
    const unsigned long mask = 1UL << to_number(node);
    // MPOL_PREFERRED: a step too far lands elsewhere, where MPOL_BIND would get this process killed.
    while (free_bytes(node) > left + step && pieces_.size() < 1000) {
      pieces_.push_back(std::make_unique<fresh>(step));
      const auto values = pieces_.back()->values();
      if (syscall(SYS_mbind, values.data(), step, MPOL_PREFERRED, &mask, 64UL, 0U) != 0) give_up("mbind of the hog");
      for (std::size_t i = 0; i < values.size(); i += 512) values[i] = 1;
    }
  }

 private:
  std::vector<std::unique_ptr<fresh>> pieces_;
};

void placement(truth& kernel, domain_index full) {
  const node_id node = topology::current().memory_id(full);
  const std::size_t bytes = free_bytes(node) + 64 * mib;
  const fresh memory(bytes / huge_bytes * huge_bytes);
  const auto values = memory.values();
  number(values, domain_index{0});
  const auto count = [&] {
    const auto nodes = kernel.nodes(values.data(), memory.bytes());
    return static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), to_number(node)));
  };
  placement_options options;
  options.who = access::exclusive;
  options.refusal = on_refusal::fail;
  {
    const placed_range failed = localize(values, full, options);
    check(!failed.ok() && !failed.report().complete(), "full node, on_refusal::fail: not ok",
          failed.report().describe());
    check(is_numbered(values), "its contents");
  }
  options.refusal = on_refusal::degrade;
  const placed_range placed = localize(values, full, options);
  const placement_report& r = placed.report();
  std::size_t refused = 0;
  for (const refusal_count& c : r.refused) refused += c.pages;
  const std::size_t there = count();
  check(!r.complete() && r.asked == r.placed + refused + r.later + r.unknown,
        "full node, degrade: each page is accounted for", r.describe());
  check(r.placed == there, "as the kernel says",
        std::to_string(there) + " there, " + std::to_string(r.placed) + " told");
  check(is_numbered(values), "its contents");
}

void resource(domain_index full) {
  const node_id node = topology::current().memory_id(full);
  constexpr std::size_t piece = 8 * mib;
  {
    domain_resource spills(full);
    std::vector<void*> blocks;
    const std::size_t wanted = free_bytes(node) / piece + 4;
    for (std::size_t i = 0; i != wanted; ++i) {
      blocks.push_back(spills.allocate(piece, 4096));
      for (std::size_t at = 0; at < piece; at += base_page_bytes) static_cast<char*>(blocks.back())[at] = 1;
    }
    std::size_t elsewhere = 0, pages = 0;
    for (void* const b : blocks) {
      const page_census c = where(memory_range(b, piece));
      pages += c.pages - c.untouched;
      elsewhere += c.pages - c.untouched - c.on(node);
    }
    check(elsewhere != 0 && pages >= wanted * piece / base_page_bytes, "on_full::spill: the rest is elsewhere",
          std::to_string(elsewhere) + " of " + std::to_string(pages));
    for (void* const b : blocks) spills.deallocate(b, piece, 4096);
  }
  memory_options options;
  options.when_full = on_full::fail;
  domain_resource fails(full, options);
  std::vector<void*> blocks;
  bool thrown = false;
  for (int i = 0; i != 100 && !thrown; ++i) {
    try {
      blocks.push_back(fails.allocate(piece, 4096));
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
  }
  check(thrown, "on_full::fail: std::bad_alloc");
  std::size_t elsewhere = 0;
  for (void* const b : blocks) {
    const page_census c = where(memory_range(b, piece));
    elsewhere += c.pages - c.on(node);
  }
  check(elsewhere == 0, "what it gave before is all there", std::to_string(elsewhere) + " pages are not");
  for (void* const b : blocks) fails.deallocate(b, piece, 4096);
}

}  // namespace

int main(int argc, char** argv) {
  const words given(argc, argv);
  truth kernel;
  const auto machine = topology::current();
  if (machine.domains().size() < 2) give_up("expected several domains");
  const domain_index full{1};
  const hog most(machine.memory_id(full), 48 * mib);
  if (given.has("sandbox") && !homing::testing::refuse(homing::testing::docker, EPERM))
    give_up("no filter can be set here");
  placement(kernel, full);
  resource(full);
  return verdict();
}
