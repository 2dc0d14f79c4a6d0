/// The pages of a process by mapping and node, as the kernel's numa_maps counts them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace homing::cli {

/// Bytes by the OS id of the node.
using bytes_by_node = std::map<int, std::uint64_t>;

/// Mappings of one kind and, for files, one name, added up.
struct page_group {
  std::string kind;  ///< heap, stack, anonymous, file, shared memory, or huge pages (hugetlbfs)
  std::string name;  ///< of a file; empty otherwise
  std::uint64_t page_bytes = 4096;
  std::uint64_t mappings = 0;
  bytes_by_node on{};
};

struct page_census {
  std::vector<page_group> groups;  ///< most bytes first
  bytes_by_node total;
  std::map<std::string, std::uint64_t> policies;  ///< bytes of mappings by their policy, as the kernel writes it
};

/// Reads the text of a numa_maps file. A line that is not understood is left out, and counts of pages that are there
/// are never guessed.
[[nodiscard]] page_census count_pages(std::string_view numa_maps);

[[nodiscard]] std::uint64_t sum(const bytes_by_node& bytes) noexcept;

}  // namespace homing::cli
