/// Which node each physical address belongs to, learnt from pages whose nodes are known.
///
/// A node's memory is one stretch of QEMU's address space, of the size that the machine says, but where it begins
/// depends on how QEMU composes addresses. So the known layouts are candidates, and pages that Linux bound to a node
/// and touched decide: exactly one candidate must put all pages of each Linux node into one node's memory, and no two
/// into the same.
/// Threads: learn() and settle() by one at a time; node_of() by any after settle().
/// Errors:  settle() returns what is wrong as a line; empty if all is well.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "machine.hpp"

namespace homing::lab::model {

class memory_map {
 public:
  static constexpr unsigned unknown = ~0U;
  struct block {
    unsigned node = 0;        // of the machine
    std::uint64_t first = 0;  // physical addresses [first, end)
    std::uint64_t end = 0;
    unsigned linux_node = unknown;
    std::uint64_t pages = 0;  // learnt from
  };

  explicit memory_map(const machine& m);

  /// A page at this address is on Linux's node `linux_node`.
  void learn(std::uint64_t address, unsigned linux_node);
  /// Chooses the layout that explains all pages; "" or what is wrong.
  [[nodiscard]] std::string settle();
  [[nodiscard]] bool settled() const { return !blocks_.empty(); }
  /// True if the page is where Linux says, after settle().
  [[nodiscard]] bool agrees(std::uint64_t address, unsigned linux_node) const;

  /// The machine's node of an address; `unknown` for what is no node's memory (firmware, video, devices).
  [[nodiscard]] unsigned node_of(std::uint64_t address) const noexcept {
    for (const block& b : blocks_) {
      if (address - b.first < b.end - b.first) return b.node;
    }
    return unknown;
  }
  [[nodiscard]] const std::vector<block>& blocks() const { return blocks_; }
  [[nodiscard]] const std::string& layout() const { return layout_; }
  /// An address that no block of any layout reaches: how large tables by address must be.
  [[nodiscard]] std::uint64_t addresses_end() const noexcept { return addresses_end_; }

 private:
  struct candidate {
    std::string name;
    std::vector<block> blocks;
  };
  [[nodiscard]] std::string explain(candidate& c) const;

  std::vector<candidate> candidates_;
  std::uint64_t addresses_end_ = 0;
  std::map<unsigned, std::vector<std::uint64_t>> pages_;  // by Linux node
  std::vector<block> blocks_;
  std::string layout_;
};

}  // namespace homing::lab::model
