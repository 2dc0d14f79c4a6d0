/// The figures of `homing bandwidth` as text, JSON, CSV and a picture.
#pragma once

#include <string>
#include <vector>

#include "bandwidth/run.hpp"
#include "measure/machine_card.hpp"

namespace homing::measure {

struct bandwidth_report {
  plan what;
  machine_card machine;
  bandwidth_wishes wishes;
  std::vector<bandwidth_figure> figures;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  /// A line for each measurement and kernel.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string svg() const;
  /// Measurements whose results were wrong, a line each; empty if all are right.
  [[nodiscard]] std::string wrong() const;
};

}  // namespace homing::measure
