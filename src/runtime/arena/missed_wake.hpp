/// A note that a worker was wanted while no slot was free: whoever frees one looks for work then.
///
/// Threads:  any. Who notes a wish has pushed its work; who takes the note has freed a slot.
/// Cost:     the first note passes a heavy fence, one that finds a note made a full fence.
/// Protocol: docs/protocols/arena.md, [A7]. A note is *made* by its maker's heavy fence; whoever took it meanwhile, or
///           another maker, leaves that maker nothing to do. The count keeps each note from being taken for another.
#pragma once

#include <cstdint>

#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

class missed_wake {
 public:
  /// Behind a push, with no slot free. The caller looks at the slots once more; where it finds none free again, whoever
  /// frees the next one finds its work.
  void note() noexcept {
    sync::full_fence();  // [A7] the push before the look at the note; partner: take(), then the look for work
    std::uint32_t mine = 0;
    std::uint32_t seen = 0;
    do {
      // acquire: behind the heavy fence of who made it, so the slots freed by those who had not seen it show.
      seen = state_.load(sync::acquire);
      if ((seen & state_bits) == made) {
        return;
      }
      mine = next(seen) | being_made;
    } while (!state_.compare_exchange_weak(seen, mine, sync::relaxed, sync::relaxed));
    sync::heavy_fence();  // partner: a freed slot, then the look at the note
    // relaxed: a release by the fence before it.
    state_.compare_exchange_strong(mine, (mine & ~state_bits) | made, sync::relaxed, sync::relaxed);
  }

  /// A glance for who may have no use for take().
  [[nodiscard]] bool may_be_noted() const noexcept { return (state_.load(sync::relaxed) & state_bits) != none; }
  /// Behind a slot that was freed, and a light fence. True: there was a note; the caller looks for work and calls for
  /// it.
  [[nodiscard]] bool take() noexcept {
    std::uint32_t seen = state_.load(sync::relaxed);
    while (__builtin_expect((seen & state_bits) != none, false)) {
      // relaxed: the fence behind it orders it before the look for work.
      if (state_.compare_exchange_weak(seen, next(seen), sync::relaxed, sync::relaxed)) {
        sync::full_fence_after_exchange();
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint32_t none = 0;
  static constexpr std::uint32_t being_made = 1;
  static constexpr std::uint32_t made = 2;
  static constexpr std::uint32_t state_bits = 3;

  [[nodiscard]] static std::uint32_t next(std::uint32_t seen) noexcept { return (seen | state_bits) + 1; }

  sync::atomic<std::uint32_t> state_{none};
};

}  // namespace homing::scheduler
