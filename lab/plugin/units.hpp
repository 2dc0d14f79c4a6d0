/// The model's time: ticks of 1/256 of a cycle, so that a CPI below one still counts in whole numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace homing::lab::model {

using ticks = std::uint64_t;
inline constexpr ticks ticks_per_cycle = 256;

/// Converts between what people say and ticks, for one clock frequency.
class time_scale {
 public:
  explicit time_scale(double clock_ghz) : ticks_per_ns_(clock_ghz * static_cast<double>(ticks_per_cycle)) {}
  [[nodiscard]] ticks from_ns(double ns) const { return static_cast<ticks>(std::llround(ns * ticks_per_ns_)); }
  [[nodiscard]] double to_ns(ticks t) const { return static_cast<double>(t) / ticks_per_ns_; }
  /// How long `bytes` occupy something that carries `gbs` (1e9 bytes a second).
  [[nodiscard]] ticks occupancy(unsigned bytes, double gbs) const { return from_ns(bytes / gbs); }

 private:
  double ticks_per_ns_;
};

}  // namespace homing::lab::model
