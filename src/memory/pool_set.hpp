/// The pools of one resource, and which of them a thread is served from.
#pragma once

#include <homing/memory_options.hpp>
#include <homing/topology.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "memory/block_pool.hpp"
#include "memory/new_pages.hpp"

namespace homing::memory {

/// Threads: allocate(), deallocate() and usage() from any. Errors: std::bad_alloc.
class pool_set {
 public:
  /// One pool, for everybody. No homes: pages as the kernel gives them.
  pool_set(const char* name, platform::page_calls& calls, platform::address_space& space,
           const topology::snapshot& machine, std::vector<page_home> homes, const memory_options& options);
  /// A pool for each memory node; threads are served from their domain's.
  static std::unique_ptr<pool_set> of_all_domains(const char* name, platform::page_calls& calls,
                                                  platform::address_space& space, const topology::snapshot& machine,
                                                  const memory_options& options);
  pool_set(const pool_set&) = delete;
  pool_set& operator=(const pool_set&) = delete;
  /// Says so if blocks are alive.
  ~pool_set();

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment);
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    block_pool::deallocate(this, block, bytes, alignment);
  }
  [[nodiscard]] memory_usage usage() const noexcept;

 private:
  struct place {
    new_pages pages;
    block_pool pool;
    place(const void* owner, new_pages from, memory_budget& budget)
        : pages(std::move(from)), pool(owner, pages, budget) {}
  };
  pool_set(const char* name, const topology::snapshot& machine, const memory_options& options);

  const char* const name_;
  topology::snapshot machine_;
  const memory_options options_;
  memory_budget budget_;
  std::vector<std::unique_ptr<place>> places_;  // at least one
  std::vector<std::size_t> place_of_domain_;    // empty if there is one place
};

/// True if this machine leaves no choice of a node: then a pool has no homes, and costs no NUMA call.
[[nodiscard]] bool has_one_node(const topology::snapshot& machine) noexcept;
/// A domain's memory; a node's; nodes' (an empty list: all with memory and CPUs for this process). No homes if
/// has_one_node(). A domain or node that the machine does not have is a programmer's error.
[[nodiscard]] std::vector<page_home> homes_of(const topology::snapshot& machine, domain_index domain);
[[nodiscard]] std::vector<page_home> homes_of(const topology::snapshot& machine, std::span<const node_index> nodes);

}  // namespace homing::memory
