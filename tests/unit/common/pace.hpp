/// Load that is even by construction: threads that are ahead wait for those behind.
#pragma once

#include <homing/ids.hpp>
#include <homing/tasks.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "unit/common/await.hpp"

namespace homing::testing {

/// Keeps homes abreast: whoever works for one waits while some home is more than a few steps behind it. Those behind
/// never wait. If all `threads` wait, nobody works for the home behind, since its threads were early and help
/// elsewhere: then the one that is least ahead goes on.
class pace {
 public:
  enum class who : std::uint8_t { everybody, those_at_home };

  pace(unsigned domains, std::size_t slack, who waits, unsigned threads)
      : steps_(domains), slack_(slack), waits_(waits), threads_(threads) {}
  /// That domain is home to nothing.
  void leave_out(unsigned domain) { steps_[domain].store(~std::size_t{0} / 2); }
  void step(unsigned home) {
    const std::size_t mine = steps_[home].fetch_add(1) + 1;
    if (waits_ == who::those_at_home && to_index(current_domain()) != home) return;
    if (is_abreast(mine)) return;
    begin_to_wait(mine);
    await("the other homes", [&] { return is_abreast(mine) || nobody_is_behind(mine); });
    end_to_wait(mine);
  }

 private:
  [[nodiscard]] bool is_abreast(std::size_t mine) const {
    return std::all_of(steps_.begin(), steps_.end(), [&](const auto& s) { return mine <= s.load() + slack_; });
  }
  void begin_to_wait(std::size_t mine) {
    const std::lock_guard hold(lock_);
    waiting_.insert(mine);
  }
  void end_to_wait(std::size_t mine) {
    const std::lock_guard hold(lock_);
    waiting_.erase(waiting_.find(mine));
  }
  // Exact: while all wait, no step is made.
  [[nodiscard]] bool nobody_is_behind(std::size_t mine) {
    const std::lock_guard hold(lock_);
    return waiting_.size() >= threads_ && mine == *waiting_.begin() && !is_abreast(mine);
  }

  std::vector<std::atomic<std::size_t>> steps_;
  const std::size_t slack_;
  const who waits_;
  const unsigned threads_;
  std::mutex lock_;
  std::multiset<std::size_t> waiting_;  ///< the steps of those who wait
};

}  // namespace homing::testing
