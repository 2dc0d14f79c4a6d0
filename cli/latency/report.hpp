/// The figures of `homing latency` as text, JSON, CSV and a picture.
#pragma once

#include <string>

#include "latency/run.hpp"
#include "measure/machine_card.hpp"

namespace homing::measure {

struct latency_report {
  plan what;
  machine_card machine;
  latency_wishes wishes;
  latency_figures figures;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  /// A line for each figure; of the curves, a line for each point.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string svg() const;
  /// Walks that did not go through their whole buffer, a line each; empty if all did.
  [[nodiscard]] std::string wrong() const;
};

}  // namespace homing::measure
