#include "memory_map.hpp"

#include <algorithm>
#include <cstdio>

namespace homing::lab::model {
namespace {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

memory_map::memory_map(const machine& m) {
  // QEMU 7.2 and its like add the block's offset among all of QEMU's memory to its address in the machine, later ones
  // leave the first away; both grow by the sizes of the nodes before.
  for (const std::uint64_t times : {2ULL, 1ULL}) {
    candidate c{times == 2 ? "offset and address" : "address", {}};
    std::uint64_t before = 0;
    for (const memory_shape& memory : m.memory) {
      const std::uint64_t size = memory.size_mib << 20;
      c.blocks.push_back({memory.node, times * before, times * before + size});
      before += size;
    }
    addresses_end_ = std::max(addresses_end_, c.blocks.back().end);
    candidates_.push_back(std::move(c));
  }
}

void memory_map::learn(std::uint64_t address, unsigned linux_node) { pages_[linux_node].push_back(address); }

std::string memory_map::explain(candidate& c) const {
  for (const auto& [linux_node, addresses] : pages_) {
    block* home = nullptr;
    for (const std::uint64_t address : addresses) {
      const auto b = std::find_if(c.blocks.begin(), c.blocks.end(),
                                  [&](const block& x) { return address >= x.first && address < x.end; });
      const std::string page = "a page of Linux's node " + std::to_string(linux_node) + " at " + hex(address);
      if (b == c.blocks.end()) return page + " is in no node's memory";
      if (home == nullptr && b->linux_node != unknown) {
        return page + " is where node " + std::to_string(b->linux_node) + " has its pages";
      }
      if (home != nullptr && home != &*b) return page + " is in another node's memory than its first one";
      home = &*b;
      home->linux_node = linux_node;
      ++home->pages;
    }
  }
  for (const block& b : c.blocks) {
    if (b.linux_node == unknown) return "no page was touched on the machine's node " + std::to_string(b.node);
  }
  return {};
}

std::string memory_map::settle() {
  std::string problems;
  const candidate* chosen = nullptr;
  for (candidate& c : candidates_) {
    const std::string problem = explain(c);
    if (problem.empty() && chosen == nullptr) chosen = &c;
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + ("if addresses are " + c.name) + ", " + problem;
  }
  if (chosen == nullptr) return problems;
  blocks_ = chosen->blocks;
  layout_ = chosen->name;
  return {};
}

bool memory_map::agrees(std::uint64_t address, unsigned linux_node) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const block& b) {
    return b.linux_node == linux_node && address >= b.first && address < b.end;
  });
}

}  // namespace homing::lab::model
