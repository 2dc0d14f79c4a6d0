/// Memory that lives where it should: std::pmr resources for a domain, for the domain of whoever asks, dealt over the
/// nodes, and along a distribution.
///
///   homing::domain_resource near(homing::domain_index{1});
///   std::pmr::vector<particle> particles(&near);
///
///   homing::local_resource local;                           // each thread allocates near itself; a block that is
///   std::pmr::unordered_map<int, cell> cells(&local);       // freed elsewhere returns to the pool it came from
///
/// malloc hands memory on without asking which node it is on, so that first touch holds only once. These resources
/// keep a pool for each node, over pages whose policy was set before anybody touched them. Blocks up to 32 KiB come in
/// size classes, blocks up to 960 KiB as runs of 64 KiB, larger ones as mappings of their own.
///
/// One memory node: one pool, and no NUMA call at all. A made-up machine: the homes are kept in a book (where() reads
/// it).
///
/// Ownership: a resource owns its memory; containers must end before it. One that ends while blocks are alive says so
///            in a line on stderr; their memory goes with it.
/// Threads:   allocate, deallocate and usage() from any thread; a pool has one lock.
/// Errors:    std::bad_alloc: the system has no memory, bytes_max is reached, or, with on_full::fail, the node has
///            none. A domain or node that the current machine does not have, and a block given back twice, to another
///            resource or with another size, are programmer's errors. distributed_resource notices all that it is
///            given; the others a block of another of them, and another size class up to 960 KiB; the rest need not be
///            noticed.
/// Source:    TBB-NUMA 4.5 (data must be placed before work can follow it); docs/design/0003-memory-resources.md.
#pragma once

#include <homing/detail/placed_blocks.hpp>
#include <homing/distribution.hpp>
#include <homing/export.hpp>
#include <homing/ids.hpp>
#include <homing/memory_options.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>

namespace homing {
namespace detail {

/// What the three pooled resources share.
class HOMING_API pooled_resource : public std::pmr::memory_resource {
 public:
  pooled_resource(const pooled_resource&) = delete;
  pooled_resource& operator=(const pooled_resource&) = delete;
  ~pooled_resource() override;

  [[nodiscard]] memory_usage usage() const noexcept;

 protected:
  struct pools;
  explicit pooled_resource(std::unique_ptr<pools> of) noexcept;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

  std::unique_ptr<pools> pools_;
};

}  // namespace detail

/// Memory of one domain, or of one node, which may be a memory tier.
class HOMING_API domain_resource final : public detail::pooled_resource {
 public:
  explicit domain_resource(domain_index home, const memory_options& options = {});
  explicit domain_resource(node_index home, const memory_options& options = {});
};

/// Memory of the domain that the allocating thread works in (topology::current_domain()): a pool for each memory node.
class HOMING_API local_resource final : public detail::pooled_resource {
 public:
  explicit local_resource(const memory_options& options = {});
};

/// Memory whose pages are dealt over nodes by turns: for what everybody uses alike. Without a list: all nodes with
/// memory and CPUs for this process. A small block is on one node, or on two where it lies across the end of a page.
class HOMING_API interleaved_resource final : public detail::pooled_resource {
 public:
  explicit interleaved_resource(const memory_options& options = {});
  explicit interleaved_resource(std::span<const node_index> nodes, const memory_options& options = {});
};

/// Memory along a distribution: element i of each block has the home of point i (row-major). For arrays that are made
/// at their full size: each block is a mapping of its own, in whole pages, placed as enforce() does.
///
///   homing::distributed_resource rows(homing::block(n, over, homing::elements_per_page<double>()), sizeof(double));
///   std::pmr::vector<double> x(n, &rows);
///
/// A last part of an element counts as one. What a block has beyond the distribution's size has the home of the last
/// point. With on_full::fail, a block that
/// can't be placed as a whole is std::bad_alloc. usage().unplaced_bytes counts what was not placed.
template <class Dist>
  requires(distribution_over<Dist, 1> || enumerable_distribution<Dist>)
class distributed_resource final : public std::pmr::memory_resource {
 public:
  /// Holds a copy of the distribution.
  distributed_resource(Dist along, std::size_t element_bytes, const memory_options& options = {})
      : along_(std::move(along)), element_bytes_(element_bytes), blocks_(options) {
    detail::expects(element_bytes > 0, "distributed_resource", "elements of 0 bytes; pass sizeof(T)");
  }
  distributed_resource(const distributed_resource&) = delete;
  distributed_resource& operator=(const distributed_resource&) = delete;
  ~distributed_resource() override = default;

  [[nodiscard]] memory_usage usage() const noexcept { return blocks_.usage(); }
  [[nodiscard]] const Dist& along() const noexcept { return along_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t elements = bytes / element_bytes_ + (bytes % element_bytes_ != 0);
    const detail::byte_runs<Dist> runs{along_, element_bytes_, elements};
    return blocks_.allocate(runs.source(), bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t /*alignment*/) override {
    blocks_.deallocate(block, bytes);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  Dist along_;
  std::size_t element_bytes_;
  detail::placed_blocks blocks_;
};

}  // namespace homing
