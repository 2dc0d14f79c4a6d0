/// The memory behind homing::replicated: bytes, a copy for each memory node that needs one.
#pragma once

#include <homing/domain_set.hpp>
#include <homing/export.hpp>
#include <homing/ids.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <memory>

namespace homing::detail {

/// Movable. Throws std::bad_alloc, also for an alignment that no address space has. Threads: see homing::replicated.
class HOMING_API replica_store {
 public:
  /// `alignment` is a power of two.
  replica_store(std::size_t bytes, std::size_t alignment, const domain_set& over, const placement_options& options);
  replica_store(replica_store&& other) noexcept;
  replica_store& operator=(replica_store&& other) noexcept;
  ~replica_store();

  [[nodiscard]] void* original() noexcept;
  /// Aligned to a page at least; of the original for a domain that shares its node, or for one that is no member and
  /// nearest to it.
  [[nodiscard]] const void* copy_of(domain_index domain) const noexcept;
  [[nodiscard]] std::size_t copy_count() const noexcept;
  [[nodiscard]] const placement_report& report() const noexcept;
  /// Fills the original.
  void write(const void* from) noexcept;
  /// Fills the copies from the original.
  void refresh() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace homing::detail
