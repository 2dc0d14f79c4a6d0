/// How a loop's range is cut for its threads: each domain's part in chunks, one for each thread that is there in the
/// calling thread's arena; so that the same iterations come to the same caches, loop after loop.
///
/// Source: TBB-NUMA 4.5 and figure 8.
#pragma once

#include <homing/detail/loop_memory.hpp>
#include <homing/detail/loop_parts.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace homing::detail {

/// A range of one home, and the number of the part that it is of.
template <class Range>
struct fragment {
  Range range;
  std::uint32_t part;
};

/// What one thread is sent: fragments [first, last).
struct chunk {
  std::uint32_t first;
  std::uint32_t last;
  std::uint16_t slot;                 ///< of the calling thread's arena; no_slot: any thread
  std::optional<std::uint32_t> home;  ///< where its data is
  static constexpr std::uint16_t no_slot = 0xFFFF;
};

/// Chunks [first, last) of a loop.
struct chunk_span {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// Whether a chunk may end within a part.
enum class cutting { anywhere, between_parts };

/// The parts of one domain, or those without a home, and where its chunks lie.
struct chunk_group {
  std::optional<std::uint32_t> domain;
  std::size_t points = 0;
  std::uint32_t first_part = 0;  ///< in loop_plan's order, as the last
  std::uint32_t last_part = 0;
  std::uint32_t chunks_max = 0;
  std::uint32_t first_chunk = 0;
  std::uint32_t first_fragment = 0;
};

/// The domain of each slot's thread, in the calling thread's arena; of a slot without a thread, the slot's own.
/// Errors: std::bad_alloc.
[[nodiscard]] inline std::span<const std::uint16_t> domains_by_slot(loop_memory& memory) {
  const tasks_door* const open = loop_door();
  if (open == nullptr) return {};
  const std::span<std::uint16_t> domains = memory.room_for<std::uint16_t>(open->map_slots(nullptr, 0));
  open->map_slots(domains.data(), static_cast<std::uint32_t>(domains.size()));
  return domains;
}

/// Groups are cut by whoever begins them: in their domain, side by side. The caller writes nothing of what they write.
template <class Range>
class loop_plan {
 public:
  /// `parts` and `memory` outlive the plan; their homes are domains that there are. Errors: std::bad_alloc.
  loop_plan(std::span<const loop_part<Range>> parts, cutting where, loop_memory& memory)
      : parts_(parts),
        where_(where),
        slots_(domains_by_slot(memory)),
        order_(memory.room_for<std::uint32_t>(parts.size())),
        groups_(domain_count() + 1, memory.get()) {
    const std::uint32_t domains = domain_count();  // and one group more, for what has no home
    const auto group_of = [&](const loop_part<Range>& p) {
      if (!p.where.domain() || slots_.empty()) return domains;  // or on another library, where addresses mean nothing
      expects(to_index(*p.where.domain()) < domains, "parallel loop",
              "there is no such domain; see homing::domain_count()");
      return to_index(*p.where.domain());
    };
    for (const std::uint16_t d : slots_) ++groups_[d].chunks_max;
    groups_[domains].chunks_max = static_cast<std::uint32_t>(slots_.size());
    for (const loop_part<Range>& p : parts) {
      chunk_group& g = groups_[group_of(p)];
      g.points = std::min(g.points + points_in(loop_space<Range>::box_of(p.range)), points_most);
      ++g.last_part;
    }
    const auto [chunk_count, fragment_count] = lay_out(domains);
    for (std::uint32_t i = 0; i < parts.size(); ++i) order_[groups_[group_of(parts[i])].last_part++] = i;
    std::erase_if(groups_, [](const chunk_group& g) { return g.first_part == g.last_part; });
    chunks_ = memory.room_for<chunk>(chunk_count);
    fragments_ = memory.room_for<fragment<Range>>(fragment_count);
  }

  [[nodiscard]] std::span<const chunk_group> groups() const noexcept { return groups_; }
  /// Those that cut() has said are there.
  [[nodiscard]] std::span<const chunk> chunks() const noexcept { return chunks_; }
  /// By group, and within it in the order of the loop's range. Those of the chunks that are there.
  [[nodiscard]] std::span<const fragment<Range>> fragments() const noexcept { return fragments_; }

  /// Cuts a group into chunks of about as many points each: at least one chunk. Threads: one a group.
  [[nodiscard]] chunk_span cut(std::uint32_t g) noexcept {
    const chunk_group& group = groups_[g];
    group_cut at(*this, group);
    for (std::uint32_t i = group.first_part; i < group.last_part; ++i) at.add(order_[i], parts_[order_[i]].range);
    const std::uint32_t last = at.end();
    if (group.domain) {
      std::uint32_t next = group.first_chunk;
      for (std::uint32_t s = 0; s < slots_.size() && next != last; ++s) {
        if (slots_[s] == *group.domain) chunks_[next++].slot = static_cast<std::uint16_t>(s);
      }
    }
    return {group.first_chunk, last};
  }

 private:
  class group_cut {
   public:
    group_cut(loop_plan& plan, const chunk_group& g)
        : plan_(plan),
          home_(g.domain),
          chunk_(g.first_chunk),
          chunks_left_(g.chunks_max),
          points_a_chunk_(g.points / g.chunks_max),
          longer_(g.points % g.chunks_max),
          first_(g.first_fragment),
          next_(g.first_fragment) {
      begin_chunk();
    }
    void add(std::uint32_t part, Range range) {
      while (chunks_left_ > 1 && plan_.where_ == cutting::anywhere && size_of(range) > wanted() &&
             range.is_divisible()) {
        const Range rest = split_off(range, wanted(), size_of(range) - wanted());
        put(part, range);
        next_chunk();
        range = rest;
      }
      put(part, range);
      if (lacking_ <= 0 && chunks_left_ > 1) next_chunk();
    }
    /// The number of the chunk behind the last.
    [[nodiscard]] std::uint32_t end() {
      if (first_ == next_) return chunk_;
      assert(chunk_ < plan_.chunks_.size());
      new (&plan_.chunks_[chunk_++]) chunk{first_, next_, chunk::no_slot, home_};
      return chunk_;
    }

   private:
    [[nodiscard]] static std::size_t size_of(const Range& r) { return points_in(loop_space<Range>::box_of(r)); }
    [[nodiscard]] std::size_t wanted() const noexcept {
      return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, lacking_));
    }
    void put(std::uint32_t part, const Range& range) {
      assert(next_ < plan_.fragments_.size());
      new (&plan_.fragments_[next_++]) fragment<Range>{range, part};
      lacking_ = std::max(lacking_ - static_cast<std::ptrdiff_t>(size_of(range)),
                          -static_cast<std::ptrdiff_t>(points_most));  // more than can be counted
    }
    void next_chunk() {
      chunk_ = end();
      --chunks_left_;
      begin_chunk();
    }
    void begin_chunk() {
      first_ = next_;
      lacking_ += static_cast<std::ptrdiff_t>(points_a_chunk_ + (longer_ != 0 ? 1 : 0));
      longer_ -= longer_ != 0 ? 1 : 0;
    }

    loop_plan& plan_;
    const std::optional<std::uint32_t> home_;
    std::uint32_t chunk_;               ///< that is being filled
    std::uint32_t chunks_left_;         ///< with it
    const std::size_t points_a_chunk_;  ///< or one more, of the first `longer_`
    std::size_t longer_;
    std::ptrdiff_t lacking_ = 0;  ///< points that it and those before it are still due; below 0: have beyond it
    std::uint32_t first_;         ///< its first fragment
    std::uint32_t next_;
  };

  /// Gives each group its places, and puts its number of parts to their begin. Returns how many chunks and fragments
  /// there can be.
  std::pair<std::uint32_t, std::uint32_t> lay_out(std::uint32_t domains) {
    std::uint32_t part = 0;
    std::uint32_t chunk_count = 0;
    std::uint32_t fragment_count = 0;
    for (std::uint32_t i = 0; i <= domains; ++i) {
      chunk_group& g = groups_[i];
      if (i != domains) g.domain = i;
      const std::uint32_t parts_in_it = g.last_part;
      g.chunks_max =
          static_cast<std::uint32_t>(std::clamp<std::size_t>(g.chunks_max, 1, std::max<std::size_t>(1, g.points)));
      g.first_part = g.last_part = part;
      g.first_chunk = chunk_count;
      g.first_fragment = fragment_count;
      if (parts_in_it == 0) continue;
      part += parts_in_it;
      chunk_count += g.chunks_max;
      fragment_count += g.chunks_max + parts_in_it;
    }
    return {chunk_count, fragment_count};
  }

  const std::span<const loop_part<Range>> parts_;
  const cutting where_;
  const std::span<const std::uint16_t> slots_;  ///< domains by slot
  const std::span<std::uint32_t> order_;        ///< parts by group
  std::pmr::vector<chunk_group> groups_;
  std::span<chunk> chunks_;
  std::span<fragment<Range>> fragments_;
};

}  // namespace homing::detail
