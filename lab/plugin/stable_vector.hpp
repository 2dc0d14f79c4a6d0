/// Elements that never move, found by two loads: std::deque divides to find one, at each access.
///
/// Ownership: of its elements.
/// Threads:   emplace_back() by one, before others look; the rest by any.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing::lab::model {

template <class T>
class stable_vector {
  using parts = std::vector<std::unique_ptr<T>>;

 public:
  template <class Element>
  class position {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::remove_const_t<Element>;
    using difference_type = std::ptrdiff_t;
    using pointer = Element*;
    using reference = Element&;

    position() = default;
    explicit position(typename parts::const_iterator at) : at_(at) {}
    Element& operator*() const noexcept { return **at_; }
    position& operator++() noexcept {
      ++at_;
      return *this;
    }
    position operator++(int) noexcept {
      position before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const position&, const position&) = default;

   private:
    typename parts::const_iterator at_{};
  };

  template <class... Arguments>
  T& emplace_back(Arguments&&... of) {
    return *parts_.emplace_back(std::make_unique<T>(std::forward<Arguments>(of)...));
  }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return *parts_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return *parts_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }
  [[nodiscard]] auto begin() noexcept { return position<T>(parts_.begin()); }
  [[nodiscard]] auto end() noexcept { return position<T>(parts_.end()); }
  [[nodiscard]] auto begin() const noexcept { return position<const T>(parts_.begin()); }
  [[nodiscard]] auto end() const noexcept { return position<const T>(parts_.end()); }

 private:
  parts parts_;
};

}  // namespace homing::lab::model
