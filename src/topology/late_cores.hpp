/// Cores and core types of a machine that was read without them: read by hwloc when somebody asks first.
///
/// Ownership: the machine's.
/// Threads:   any; several that ask at once may all read, and the first one's answer is everybody's.
/// Errors:    where memory lacks, or hwloc can't read: nothing, and who asks next tries again.
#pragma once

#include "sync/atomic.hpp"
#include "topology/cpu_places.hpp"

namespace homing::topology {

class late_cores final : public cores_reader {
 public:
  late_cores() = default;
  ~late_cores() override { delete read_.load(sync::relaxed); }  // nobody asks any more
  late_cores(const late_cores&) = delete;
  late_cores& operator=(const late_cores&) = delete;

  /// A CPU that has gone meanwhile is a core of its own.
  [[nodiscard]] const cpu_places* read(const cpu_places& known) noexcept override;

 private:
  sync::atomic<const cpu_places*> read_{nullptr};
};

}  // namespace homing::topology
