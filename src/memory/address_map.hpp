/// What is known of stretches of address space: a map whose keys are ranges.
#pragma once

#include <iterator>
#include <map>
#include <utility>

#include "platform/mappings.hpp"

namespace homing::memory {

/// Ranges that don't overlap, each with a value; what is written last counts.
///
/// Threads: like a container. Errors: std::bad_alloc; then all is as before, or the range has no value.
template <class Value>
class address_map {
 public:
  struct entry {
    platform::address last;
    Value value;
  };
  using entries = std::map<platform::address, entry>;  // by first address

  /// The range, which is not empty, gets this value.
  void assign(platform::address_range range, Value value) {
    erase(range);
    entries_.emplace(range.first, entry{range.last, std::move(value)});
  }

  void erase(platform::address_range range) {
    auto at = entries_.lower_bound(range.first);
    if (at != entries_.begin()) {
      const auto before = std::prev(at);
      const entry old = before->second;
      if (old.last > range.last) entries_.emplace(range.last, old);
      if (old.last > range.first) before->second.last = range.first;
    }
    while (at != entries_.end() && at->first < range.last) {
      auto old = entries_.extract(at++);
      if (old.mapped().last <= range.last) continue;
      old.key() = range.last;
      entries_.insert(std::move(old));
    }
  }
  typename entries::iterator erase(typename entries::iterator at) noexcept { return entries_.erase(at); }

  /// The first entry that ends behind `from`.
  [[nodiscard]] typename entries::const_iterator find(platform::address from) const noexcept {
    return first_behind(entries_, from);
  }
  [[nodiscard]] typename entries::iterator find(platform::address from) noexcept {
    return first_behind(entries_, from);
  }
  [[nodiscard]] typename entries::const_iterator end() const noexcept { return entries_.end(); }
  [[nodiscard]] typename entries::iterator end() noexcept { return entries_.end(); }

 private:
  template <class Entries>
  static auto first_behind(Entries& entries, platform::address from) noexcept {
    auto at = entries.upper_bound(from);
    if (at != entries.begin() && std::prev(at)->second.last > from) --at;
    return at;
  }

  entries entries_;
};

}  // namespace homing::memory
