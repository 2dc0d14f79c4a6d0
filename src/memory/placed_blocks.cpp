/// Each block is a mapping, placed once before its owner sees it, and remembered with its placement until it goes.
#include <homing/detail/placed_blocks.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "memory/block_pool.hpp"
#include "memory/pool_set.hpp"
#include "platform/address_space.hpp"
#include "platform/env.hpp"
#include "platform/fork.hpp"
#include "platform/page_calls.hpp"

namespace homing::detail {

using platform::address_range;

struct placed_blocks::state {
  struct block {
    address_range range;
    std::size_t bytes;
    placed_range placement;
  };
  explicit state(const memory_options& asked) : options(asked), budget(asked.bytes_max) {}

  const memory_options options;
  memory::memory_budget budget;
  mutable platform::object_mutex lock;  // of all below
  std::unordered_map<void*, block> blocks;
  std::size_t live_bytes = 0;
  std::size_t unplaced_bytes = 0;
  int error_number = 0;

  [[nodiscard]] std::size_t grain() const noexcept {
    const std::size_t huge = platform::kernel_page_calls().huge_page_bytes();
    return options.pages == page_kind::huge && huge > 0 ? huge : page_bytes();
  }

  // Pages in the budget, with an owner until they are handed out.
  class mapping {
   public:
    mapping(state& of, std::size_t bytes, std::size_t alignment) : of_(of) {
      if (!of.budget.take(bytes)) throw std::bad_alloc();
      range_ = platform::kernel_address_space().map(0, bytes, alignment);
      if (range_.bytes() == 0) {
        of.budget.give_back(bytes);
        throw std::bad_alloc();
      }
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
      if (range_.bytes() > 0) of_.unmap(range_);
    }
    [[nodiscard]] address_range range() const noexcept { return range_; }
    [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(range_.first); }
    void hand_out() noexcept { range_ = {}; }

   private:
    state& of_;
    address_range range_{};
  };

  void unmap(address_range range) noexcept {
    platform::kernel_address_space().unmap(range);
    budget.give_back(range.bytes());
  }
  // Only pages that are there show whether their node had room for them.
  void touch(address_range range) const {
    if (has_choice() && platform::kernel_page_calls().populate(range) != 0) {
      for (platform::address at = range.first; at < range.last; at += page_bytes()) {
        platform::kernel_address_space().touch(at);
      }
    }
  }
  [[nodiscard]] static bool has_choice() {
    const topology::snapshot machine = topology::current();
    return !machine.is_virtual() && !memory::has_one_node(machine);
  }
  // The first counts.
  void note(int error) noexcept {
    const std::lock_guard hold(lock);
    if (error_number == 0) error_number = error;
  }
  static void end(block& b) noexcept {
    // The policy ends with the pages; a made-up machine's book has to hear of it.
    if (b.placement.report().is_virtual) {
      static_cast<void>(b.placement.reset());
    } else {
      b.placement.release();
    }
  }
};

placed_blocks::placed_blocks(const memory_options& options) : state_(std::make_unique<state>(options)) {}

placed_blocks::~placed_blocks() {
  if (!state_->blocks.empty()) {
    platform::warn("distributed_resource: ends with %zu blocks (%zu bytes) alive; end what uses its memory first",
                   state_->blocks.size(), state_->live_bytes);
  }
  for (auto& [data, b] : state_->blocks) {
    state::end(b);
    state_->unmap(b.range);
  }
}

void* placed_blocks::allocate(const run_source& runs, std::size_t bytes, std::size_t alignment) {
  state& s = *state_;
  const std::size_t grain = s.grain();
  if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) throw std::bad_alloc();
  const std::size_t room = (std::max<std::size_t>(bytes, 1) + grain - 1) / grain * grain;
  state::mapping pages(s, room, std::max(alignment, grain));
  int error = 0;
  if (s.options.pages == page_kind::huge) {
    error = platform::kernel_address_space().advise(pages.range(), platform::huge_advice::wanted);
  }
  const bool must = s.options.when_full == on_full::fail;
  if (must) s.touch(pages.range());
  // New memory is ours alone.
  placed_range placement =
      enforce(runs, {pages.data(), room}, 1,
              {.refusal = must ? on_refusal::fail : on_refusal::degrade, .who = access::exclusive});
  const placement_report& r = placement.report();
  for (const refusal_count& refusal : r.refused) {
    if (error == 0) error = refusal.error_number;
  }
  if (must && !r.complete()) {
    s.note(error != 0 ? error : ENOMEM);
    throw std::bad_alloc();
  }
  const std::size_t unplaced = (r.asked - r.placed - r.later) * page_bytes();

  const std::lock_guard hold(s.lock);
  s.blocks.emplace(pages.data(), state::block{pages.range(), bytes, std::move(placement)});
  s.live_bytes += bytes;
  s.unplaced_bytes += unplaced;
  if (s.error_number == 0) s.error_number = error;
  void* const data = pages.data();
  pages.hand_out();
  return data;
}

void placed_blocks::deallocate(void* data, std::size_t bytes) noexcept {
  state& s = *state_;
  state::block gone;
  {
    const std::lock_guard hold(s.lock);
    const auto at = s.blocks.find(data);
    expects(at != s.blocks.end() && at->second.bytes == bytes, "memory_resource::deallocate",
            "the block is not this resource's, or was asked for with another size");
    gone = std::move(at->second);
    s.blocks.erase(at);
    s.live_bytes -= bytes;
  }
  state::end(gone);
  s.unmap(gone.range);
}

memory_usage placed_blocks::usage() const noexcept {
  const state& s = *state_;
  const std::lock_guard hold(s.lock);
  return {.live_blocks = s.blocks.size(),
          .live_bytes = s.live_bytes,
          .mapped_bytes = s.budget.taken(),
          .mapped_bytes_most = s.budget.taken_most(),
          .unplaced_bytes = s.unplaced_bytes,
          .error_number = s.error_number};
}

}  // namespace homing::detail
