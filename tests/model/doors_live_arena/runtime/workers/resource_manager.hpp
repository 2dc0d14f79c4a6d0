/// The manager of before a fork, and that of the child.
#pragma once

namespace homing::scheduler {

class resource_manager {
 public:
  [[nodiscard]] static resource_manager& current() noexcept { return *now; }
  [[nodiscard]] static const resource_manager* current_or_null() noexcept { return now; }
  static inline resource_manager* now = nullptr;
};

}  // namespace homing::scheduler
