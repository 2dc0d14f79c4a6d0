/// Whether the kernel waits for another CPU: it comes to the same PAUSE again and again.
///
/// Its spin locks, sequence locks and calls of other CPUs all wait in such loops, and nothing else there does.
/// Threads: its CPU's only.
/// Source:  docs/protocols/lab_model.md [LM14]; Linux's cpu_relax().
#pragma once

#include "decode.hpp"

namespace homing::lab::model {

class kernel_spin {
 public:
  /// A block of the kernel is about to run. Returns whether it is part of such a loop.
  [[nodiscard]] bool note(const code_block& block) noexcept {
    ++blocks_since_;
    if (block.pauses()) {
      on_ = &block == at_ && blocks_since_ <= blocks_max;
      at_ = &block;
      blocks_since_ = 0;
    } else if (blocks_since_ > blocks_max) {
      on_ = false;
    }
    return on_;
  }
  void forget() noexcept { *this = {}; }

 private:
  static constexpr unsigned blocks_max = 16;  // of a loop; the longest, of mutexes, has some ten

  const code_block* at_ = nullptr;  // the last with a PAUSE
  unsigned blocks_since_ = 0;
  bool on_ = false;
};

}  // namespace homing::lab::model
