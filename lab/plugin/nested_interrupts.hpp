/// Interrupts that come while the kernel serves a system call or a page fault: from the first block of one until it
/// returns.
///
/// Where they enter is learnt from those that interrupt the program; x86-64 has one entry for both.
/// Threads: its CPU's only.
/// Source:  docs/protocols/lab_model.md [LM9].
#pragma once

#include <cstdint>

#include "decode.hpp"

namespace homing::lab::model {

class nested_interrupts {
 public:
  /// A block of the kernel is about to run. Returns whether it is part of one.
  bool note(const code_block& block, std::uint64_t page_fault) noexcept {
    if (returning_) --depth_;
    // A page fault takes time, but one in an interrupt returns, too.
    if (block.is_entry() && (depth_ != 0 || block.address() != page_fault)) ++depth_;
    returning_ = depth_ != 0 && block.returns();
    return depth_ != 0;
  }
  [[nodiscard]] bool on() const noexcept { return depth_ != 0; }
  void forget() noexcept { *this = {}; }

 private:
  unsigned depth_ = 0;
  bool returning_ = false;  // the last block ended in a return from an interrupt
};

}  // namespace homing::lab::model
