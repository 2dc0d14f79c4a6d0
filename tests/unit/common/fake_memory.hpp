/// A computer with four memory nodes that hands out address space and may refuse: the kernel below a memory resource.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <map>

#include "platform/address_space.hpp"
#include "topology/snapshot.hpp"
#include "unit/common/fake_kernel.hpp"
#include "unit/common/four_nodes.hpp"

namespace homing::testing {

/// Threads: like its base class, and map() and unmap() from any.
class fake_memory final : public fake_kernel, public platform::address_space {
 public:
  explicit fake_memory(std::size_t mib) : fake_kernel((mib << 20) / page) {}

  // --- what a test sets and sees ---
  int map_errno = 0;
  int advise_errno = 0;
  std::size_t map_calls = 0;
  std::size_t advised_huge = 0;                ///< bytes
  std::size_t advised_not_huge = 0;            ///< bytes
  std::optional<std::size_t> pages_of_node_1;  ///< that it still has: then touching takes another node's

  [[nodiscard]] std::size_t mapped_bytes() const {
    std::size_t sum = 0;
    for (const auto& [from, to] : mapped_) sum += to - from;
    return sum;
  }
  /// The policy of the page that holds an address: its nodes.
  [[nodiscard]] std::vector<int> policy_of(const void* at) const {
    std::vector<int> result;
    for (const node_id n : state_of(at).nodes.ids()) result.push_back(to_number(n));
    return result;
  }
  [[nodiscard]] const page_state& state_of(const void* at) const {
    return pages.at((reinterpret_cast<address>(at) - first) / page);
  }

  // --- address_space ---
  address_range map(std::size_t front, std::size_t bytes, std::size_t alignment) noexcept override {
    const std::lock_guard hold(lock_);
    ++map_calls;
    if (map_errno != 0) return {};
    address at = first;
    for (auto next = mapped_.begin();; ++next) {
      const address aligned = (at + front + alignment - 1) / alignment * alignment;
      const address_range wanted{aligned - front, aligned + bytes};
      const address limit = next == mapped_.end() ? first + pages.size() * page : next->first;
      if (wanted.last <= limit) {
        mapped_[wanted.first] = wanted.last;
        std::memset(reinterpret_cast<void*>(wanted.first), 0, wanted.bytes());
        return wanted;
      }
      if (next == mapped_.end()) return {};
      at = next->second;
    }
  }
  void unmap(address_range range) noexcept override {
    const std::lock_guard hold(lock_);
    const auto at = mapped_.find(range.first);
    EXPECT_TRUE(at != mapped_.end() && at->second == range.last) << "unmapped what was not mapped so";
    if (at != mapped_.end()) mapped_.erase(at);
    for (address a = range.first; a < range.last; a += page) pages[(a - first) / page] = page_state{};
  }
  int advise(address_range range, platform::huge_advice advice) noexcept override {
    const std::lock_guard hold(lock_);
    (advice == platform::huge_advice::wanted ? advised_huge : advised_not_huge) += range.bytes();
    return advise_errno;
  }
  void touch(address at) noexcept override {
    static constexpr std::byte zeros[page] = {};
    restore(at, zeros, page);
  }

  // --- page_calls: several threads at once, and a full node ---
  int set_policy(address_range range, platform::policy_mode mode, const platform::node_set& nodes,
                 platform::existing_pages existing) noexcept override {
    const std::lock_guard hold(lock_);
    return fake_kernel::set_policy(range, mode, nodes, existing);
  }
  int populate(address_range range) noexcept override {
    if (populate_errno != 0) return populate_errno;
    for (address a = range.first; a < range.last; a += page) {
      const std::size_t p = (a - first) / page;
      fake_kernel::touch(p, p + 1, 0);
      if (pages[p].node == 1 && pages_of_node_1) {
        if (*pages_of_node_1 == 0) {
          pages[p].node = 0;  // the kernel's fallback
        } else {
          --*pages_of_node_1;
        }
      }
    }
    return 0;
  }

 private:
  std::mutex lock_;
  std::map<address, address> mapped_;
};

}  // namespace homing::testing
