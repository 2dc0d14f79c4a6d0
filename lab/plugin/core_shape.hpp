/// What a core of the machine can do at once and how long its instructions take, in cycles of the machine's clock.
///
/// Source: the machine file's [core]; lab/machines/README.md.
#pragma once

namespace homing::lab::model {

struct core_shape {
  unsigned window = 128;       // instructions that may be begun before the oldest is done: the reorder buffer
  unsigned store_buffer = 32;  // stores that wait for their lines
  double load = 4;             // from the cache nearest to the core
  double multiply = 3, divide = 25;
  double float_add = 3, float_multiply = 5, fused = 5, float_divide = 20;
  double locked = 0;       // of a locked operation, beside what its line costs
  double pause = 0;        // of PAUSE
  double fence = 0;        // of MFENCE, beside what it waits for
  double system_call = 0;  // into the kernel and back, beside the kernel's own instructions
  double wake_ns = 0;      // of an idle CPU: the interrupt, and leaving its idle state
};

}  // namespace homing::lab::model
