/// Memory on one node, and what is true of it afterwards: where its pages are, and how large.
#pragma once

#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace homing::measure {

enum class page_wish {
  system,  ///< what the system gives by itself
  base,    ///< the base page: MADV_NOHUGEPAGE
  huge     ///< transparent huge pages: MADV_HUGEPAGE
};
[[nodiscard]] const char* name_of(page_wish wish) noexcept;

/// What was got. `why_not` is empty if every page that was touched is on the node that was asked for.
struct memory_fact {
  std::uint64_t bytes = 0;     ///< touched
  std::uint64_t at_home = 0;   ///< of these, seen on the node; 0 on a virtual machine, where there is nothing to see
  std::uint64_t huge = 0;      ///< of these, in transparent huge pages
  std::size_t page_bytes = 0;  ///< the base page
  std::string why_not{};       ///< one line: what stood in the way
  [[nodiscard]] bool is_placed() const noexcept { return why_not.empty(); }
};

/// Adds up the facts of several buffers.
[[nodiscard]] memory_fact together(const memory_fact& a, const memory_fact& b);

/// Ownership: of the mapping, and of its policy. Threads: one; the memory itself is anybody's.
class placed_buffer {
 public:
  /// Maps `bytes`, rounded up to whole pages, and sets the policy. Pages come to the node when they are touched; where
  /// a sandbox refuses the policy they are touched here, by a thread of the node's.
  /// Errors: std::runtime_error if there is no address space; what placement could not do is in fact().
  placed_buffer(std::size_t bytes, node_index node, page_wish wish);
  placed_buffer(const placed_buffer&) = delete;
  placed_buffer& operator=(const placed_buffer&) = delete;
  ~placed_buffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Looked up page by page, now. Touches nothing.
  [[nodiscard]] memory_fact fact() const;

 private:
  const node_index node_;
  std::size_t bytes_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  placed_range placed_;
};

}  // namespace homing::measure
