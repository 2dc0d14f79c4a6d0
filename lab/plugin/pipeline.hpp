/// A core's scoreboard: when each instruction can begin and when it is done, from what it waits for.
///
/// Instructions enter in order, one a CPI; each begins when its registers are ready, and has to leave in order, so that
/// no more than the window are under way. Loads from memory are bounded by the CPU's miss slots (miss_window), stores
/// leave to a buffer that writes in order. Branches are always guessed right; execution units are never short.
/// Threads: its CPU's only.
/// Source:  docs/protocols/lab_model.md [LM10]; Smith and Pleszkun 1988 (in-order completion).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <vector>

#include "core_shape.hpp"
#include "micro_op.hpp"
#include "units.hpp"

namespace homing::lab::model {

class pipeline {
 public:
  pipeline(const core_shape& shape, double cpi);

  /// Instructions [first, last) that touch no memory, from `now` on. Returns when the next may enter.
  template <std::derived_from<micro_op> Instruction>
  ticks run(const Instruction* first, const Instruction* last, ticks now) noexcept {
    for (; first != last; ++first) {
      const micro_op& op = *first;
      now = enter(now);
      if (op.kind != op_kind::plain) [[unlikely]]
        now = special(op, now);
      // The address of what touches no memory is an operand like others: LEA adds it up.
      const ticks done =
          std::max({now, ready(op.sources), ready(op.address)}) + latency_[static_cast<unsigned>(op.latency)];
      result(op, done);
      leave(done);
    }
    return now;
  }
  /// An instruction with memory enters; its access begins at address_ready() or later.
  ticks enter(ticks now) noexcept { return std::max(now + per_instruction_, window_[at_]); }
  [[nodiscard]] ticks address_ready(const micro_op& op, ticks now) const noexcept {
    return std::max(now, ready(op.address));
  }
  /// Its data is there at `data`; `again`: a further part of what has left already.
  void loaded(const micro_op& op, ticks data, bool again) noexcept {
    const ticks before = again ? last_result_ : ready(op.sources);
    const ticks done = std::max(data, before) + (again ? 0 : latency_[static_cast<unsigned>(op.latency)]);
    result(op, done);
    if (!again) leave(done);
  }
  /// When a store knows its address and its data, and has a place in the buffer.
  [[nodiscard]] ticks store_ready(const micro_op& op, ticks now, bool again) const noexcept {
    const ticks data = again ? last_result_ : ready(op.sources);
    return std::max({data, address_ready(op, now), stores_[store_at_]});
  }
  /// It may leave at `begun`, and its line is owned at `owned`.
  void stored(const micro_op& op, ticks begun, ticks owned, bool again) noexcept {
    written_ = std::max(written_, owned);
    stores_[store_at_] = written_;
    store_at_ = store_at_ + 1 == stores_.size() ? 0 : store_at_ + 1;
    if (again) return;
    result(op, begun + ticks_per_cycle);
    leave(begun);
  }
  /// When a locked operation may begin: all before it is done and written.
  [[nodiscard]] ticks quiet(const micro_op& op, ticks now) const noexcept {
    return std::max({address_ready(op, now), ready(op.sources), left_, written_});
  }
  /// A locked operation whose line is owned at `owned`. Returns when it is over.
  ticks locked(const micro_op& op, ticks owned) noexcept {
    const ticks done = owned + locked_;
    result(op, done);
    leave(done);
    return done;
  }
  /// When all that has begun is done, writes included.
  [[nodiscard]] ticks drained() const noexcept { return std::max(left_, written_); }
  [[nodiscard]] ticks near_hit() const noexcept { return load_; }

 private:
  [[nodiscard]] ticks ready(const std::array<std::uint8_t, 2>& of) const noexcept {
    return std::max(ready_[of[0]], ready_[of[1]]);
  }
  [[nodiscard]] ticks ready(const std::array<std::uint8_t, 4>& of) const noexcept {
    return std::max(std::max(ready_[of[0]], ready_[of[1]]), std::max(ready_[of[2]], ready_[of[3]]));
  }
  void result(const micro_op& op, ticks done) noexcept {
    last_result_ = done;
    ready_[op.results[0]] = done;
    ready_[op.results[1]] = done;
  }
  void leave(ticks done) noexcept {
    left_ = std::max(left_, done);
    window_[at_] = left_;
    at_ = at_ + 1 == window_.size() ? 0 : at_ + 1;
  }
  /// What stops the core, or all loads: returns when the next instruction may enter.
  [[nodiscard]] ticks special(const micro_op& op, ticks now) const noexcept;

  std::array<ticks, registers::count> ready_{};
  std::array<ticks, static_cast<std::size_t>(latency_class::size)> latency_{};
  std::vector<ticks> window_, stores_;  // when each leaves, when each is written: rings
  std::size_t at_ = 0, store_at_ = 0;
  ticks left_ = 0, written_ = 0, last_result_ = 0;
  ticks per_instruction_, load_, locked_, pause_, fence_, system_call_;
};

}  // namespace homing::lab::model
