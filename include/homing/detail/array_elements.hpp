/// How the elements of a homing::distributed_array begin and end: each made by a thread of its home, all of them or
/// none.
#pragma once

#include <homing/box.hpp>
#include <homing/detail/placed_pages.hpp>
#include <homing/distribution.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace homing::detail {

/// Makes elements first..last-1 value-initialised, or none and throws.
template <class T>
struct make_values {
  T* data;
  void operator()(std::size_t first, std::size_t last) const {
    std::uninitialized_value_construct(data + first, data + last);
  }
};

/// Makes elements first..last-1 out of f(i...), or none and throws.
template <class T, std::size_t Dims, class F>
struct make_from_index {
  T* data;
  point<Dims> extents;
  const F& f;
  void operator()(std::size_t first, std::size_t last) const {
    struct undo {
      T* from;
      T* to;
      ~undo() { std::destroy(from, to); }
    } made{data + first, data + first};
    point<Dims> at = place_of<Dims>(first, extents);
    for (; made.to != data + last; ++made.to) {
      std::apply([&](auto... index) { ::new (static_cast<void*>(made.to)) T(f(index...)); }, at);
      for (std::size_t k = Dims; k-- > 0 && ++at[k] == extents[k];) at[k] = 0;
    }
    made.from = made.to;
  }
};

/// One making of all elements. Each home has a thread; the caller makes those without a home.
template <class T, class Along, class Make>
class element_maker {
 public:
  element_maker(T* data, std::size_t count, const Along& along, const Make& make)
      : data_(data), count_(count), along_(along), make_(make), reached_(topology::current().domains().size() + 1) {}

  /// Errors: what Make throws, when nothing is left of what was made; std::bad_alloc.
  void run() {
    if (!first_touch_matters(count_ * sizeof(T))) {
      for (std::size_t at = 0; at < count_; at += std::min(chunk, count_ - at)) {
        try {
          make_(at, at + std::min(chunk, count_ - at));
        } catch (...) {
          std::destroy(data_, data_ + at);
          throw;
        }
      }
      return;
    }
    const std::vector<domain_index> homes = homes_in_use();
    at_homes(homes, {this, [](void* self, domain_index home) { static_cast<element_maker*>(self)->work(home); }});
    if (has_homeless_) work(std::nullopt);
    if (error_) {
      for (const domain_index home : homes) destroy(home);
      destroy(std::nullopt);
      std::rethrow_exception(error_);
    }
  }

 private:
  using home_or_none = std::optional<domain_index>;
  static constexpr std::size_t chunk = 4096;  // elements between two looks at failed_

  [[nodiscard]] std::size_t& reached(home_or_none home) {
    return home ? reached_.at(to_index(*home)) : reached_.back();
  }
  // Those that the distribution names at all.
  [[nodiscard]] std::vector<domain_index> homes_in_use() {
    std::vector<bool> is_used(reached_.size() - 1);
    std::vector<domain_index> homes;
    for_each_piece(along_, 0, count_, [&](const piece& p) {
      has_homeless_ |= !p.home.has_value();
      if (!p.home) return;
      expects(to_index(*p.home) < is_used.size(), "distributed_array",
              "the distribution names a domain that the current machine does not have");
      if (!is_used[to_index(*p.home)]) homes.push_back(*p.home);
      is_used[to_index(*p.home)] = true;
    });
    return homes;
  }
  // Calls f(first, last) for the parts of one home's pieces up to `end`, of at most a chunk each, until it returns
  // false.
  template <class F>
  void for_each_chunk(home_or_none home, std::size_t end, F&& f) const {
    for (std::size_t at = 0; at < end;) {
      const piece p = run_at(along_, at, count_);
      const std::size_t last = std::min(p.last, end);
      for (; p.home == home && at < last; at = std::min(at + chunk, last)) {
        if (!f(at, std::min(at + chunk, last))) return;
      }
      at = p.last;
    }
  }
  void work(home_or_none home) noexcept {
    try {
      for_each_chunk(home, count_, [&](std::size_t first, std::size_t last) {
        if (failed_.load(std::memory_order_relaxed)) return false;  // a hint: the join orders the rest
        make_(first, last);
        reached(home) = last;
        return true;
      });
    } catch (...) {
      failed_.store(true, std::memory_order_relaxed);
      const std::lock_guard hold(lock_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void destroy(home_or_none home) {
    for_each_chunk(home, reached(home), [&](std::size_t first, std::size_t last) {
      std::destroy(data_ + first, data_ + last);
      return true;
    });
  }

  T* data_;
  std::size_t count_;
  const Along& along_;
  const Make& make_;
  std::vector<std::size_t>
      reached_;  // by domain, at last without a home: what lies before it is made; each has one writer
  bool has_homeless_ = false;
  std::atomic<bool> failed_{false};
  std::mutex lock_;
  std::exception_ptr error_;  // the first
};

}  // namespace homing::detail
