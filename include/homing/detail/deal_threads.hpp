/// How threads of a lease are spread over domains.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace homing::detail {

/// How often all that have something left can have as many as their CPUs, dealing up to `count` more; 0 if somebody has
/// more than that already.
[[nodiscard]] inline std::uint64_t whole_rounds(std::uint32_t count, std::span<const std::uint32_t> cpus,
                                                std::span<const std::uint32_t> left,
                                                std::span<const std::uint32_t> dealt) noexcept {
  std::uint64_t all_cpus = 0;
  std::uint64_t all_dealt = count;
  std::uint64_t most = ~std::uint64_t{0};
  for (std::size_t d = 0; d < cpus.size(); ++d) {
    if (left[d] == 0 || cpus[d] == 0) continue;
    all_cpus += cpus[d];
    all_dealt += dealt[d];
    most = std::min(most, (std::uint64_t{dealt[d]} + left[d]) / cpus[d]);
  }
  if (all_cpus == 0) return 0;
  const std::uint64_t rounds = std::min(most, all_dealt / all_cpus);
  for (std::size_t d = 0; d < cpus.size(); ++d) {
    if (left[d] != 0 && cpus[d] != 0 && dealt[d] > rounds * cpus[d]) return 0;
  }
  return rounds;
}

/// Deals up to `count` threads one by one: the next to the domain that has least in proportion to its CPUs, among
/// equals to the one that has most left. `dealt` (what each has already) and `left` are changed. One entry a domain in
/// all three. Returns how many were dealt.
/// Source: TBB-NUMA 4.2, as the allotment of workers to arenas.
inline std::uint32_t deal_threads(std::uint32_t count, std::span<const std::uint32_t> cpus,
                                  std::span<std::uint32_t> left, std::span<std::uint32_t> dealt) noexcept {
  std::uint32_t given = 0;
  // One by one, whoever has less than its CPUs comes before those that have as many; so whole rounds are dealt at once.
  if (const std::uint64_t rounds = whole_rounds(count, cpus, left, dealt); rounds != 0) {
    for (std::size_t d = 0; d < cpus.size(); ++d) {
      if (left[d] == 0 || cpus[d] == 0) continue;
      const auto more = static_cast<std::uint32_t>(rounds * cpus[d] - dealt[d]);
      dealt[d] += more;
      left[d] -= more;
      given += more;
    }
  }
  for (; given != count; ++given) {
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
