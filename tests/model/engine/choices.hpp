/// The list of choices that makes one execution, and the next one in depth-first order.
#pragma once

#include <cstdint>

#include "engine/types.hpp"

namespace homing::model {

class choices {
 public:
  /// One of `count` ways: the recorded one, or beyond the record the first.
  [[nodiscard]] unsigned take(unsigned count) {
    if (count < 2) {
      return 0;
    }
    if (next_ == record_.size()) {
      record_.push_back({count, 0});
    }
    const entry& e = record_[next_++];
    if (e.count != count) {
      nondeterministic_ = true;  // a replay that differs: the model depends on something that is not recorded
      return 0;
    }
    return e.taken;
  }

  void rewind() noexcept { next_ = 0; }

  /// False if this was the last execution.
  [[nodiscard]] bool advance() noexcept {
    record_.resize(next_);  // an execution that was cut short has used less
    while (!record_.empty() && record_.back().taken + 1 == record_.back().count) {
      record_.pop_back();
    }
    if (record_.empty()) {
      return false;
    }
    ++record_.back().taken;
    return true;
  }

  /// True once the record is used up: what comes now was not seen in the execution before.
  [[nodiscard]] bool is_beyond_record() const noexcept { return next_ == record_.size(); }
  [[nodiscard]] bool is_nondeterministic() const noexcept { return nondeterministic_; }

 private:
  struct entry {
    std::uint32_t count;
    std::uint32_t taken;
  };
  list<entry> record_;
  std::size_t next_ = 0;
  bool nondeterministic_ = false;
};

}  // namespace homing::model
