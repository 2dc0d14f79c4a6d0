/// Load that is even by construction: threads that are ahead wait for those behind.
#pragma once

#include <homing/ids.hpp>
#include <homing/tasks.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "unit/await.hpp"

namespace homing::testing {

/// Keeps homes abreast: whoever works for one waits while some home is more than a few steps behind it. Those behind
/// never wait, so somebody always goes on.
class pace {
 public:
  enum class who : std::uint8_t { everybody, those_at_home };

  pace(unsigned domains, std::size_t slack, who waits) : steps_(domains), slack_(slack), waits_(waits) {}
  /// That domain is home to nothing.
  void leave_out(unsigned domain) { steps_[domain].store(~std::size_t{0} / 2); }
  void step(unsigned home) {
    const std::size_t mine = steps_[home].fetch_add(1) + 1;
    if (waits_ == who::those_at_home && to_index(current_domain()) != home) return;
    await("the other homes", [&] {
      return std::all_of(steps_.begin(), steps_.end(), [&](const auto& s) { return mine <= s.load() + slack_; });
    });
  }

 private:
  std::vector<std::atomic<std::size_t>> steps_;
  const std::size_t slack_;
  const who waits_;
};

}  // namespace homing::testing
