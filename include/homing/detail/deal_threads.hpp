/// How threads of a lease are spread over domains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace homing::detail {

/// Deals up to `count` threads one by one: the next to the domain that has least in proportion to its CPUs, among
/// equals to the one that has most left. `dealt` (what each has already) and `left` are changed. One entry a domain in
/// all three. Returns how many were dealt.
/// Source: TBB-NUMA 4.2, as the allotment of workers to arenas.
inline std::uint32_t deal_threads(std::uint32_t count, std::span<const std::uint32_t> cpus,
                                  std::span<std::uint32_t> left, std::span<std::uint32_t> dealt) noexcept {
  for (std::uint32_t given = 0; given != count; ++given) {
    std::size_t best = cpus.size();
    for (std::size_t d = 0; d < cpus.size(); ++d) {
      if (left[d] == 0) continue;
      if (best != cpus.size()) {
        const std::uint64_t mine = (dealt[d] + std::uint64_t{1}) * cpus[best];
        const std::uint64_t its = (dealt[best] + std::uint64_t{1}) * cpus[d];
        if (mine > its || (mine == its && left[d] <= left[best])) continue;
      }
      best = d;
    }
    if (best == cpus.size()) return given;
    ++dealt[best];
    --left[best];
  }
  return count;
}

}  // namespace homing::detail
