/// How many pauses fill a time: x86's PAUSE takes 10 cycles on some CPUs and 140 on others, so that a loop of so many
/// pauses lasts ten times as long there.
///
/// Threads: any.
/// Source:  Intel's optimization manual, PAUSE latency in Skylake and later.
#pragma once

namespace homing::sync {

/// cpu_relax() so often takes about that many nanoseconds (at most 1,000,000), or once, if one takes longer. The first
/// call in a process measures, in some microseconds.
[[nodiscard]] unsigned pauses_in(unsigned ns) noexcept;

}  // namespace homing::sync
