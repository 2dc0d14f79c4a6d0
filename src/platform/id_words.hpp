/// The words of an id set: in place where they are few, so that the masks of nearly all machines need no memory.
///
/// Ownership: owns its words. Threads: like a container. Errors: std::bad_alloc, on growth beyond in_place_max.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace homing::platform {

class id_words {
 public:
  static constexpr std::size_t in_place_max = 4;  ///< 256 ids

  [[nodiscard]] std::size_t size() const noexcept { return more_.empty() ? size_ : more_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::span<unsigned long> span() noexcept {
    return more_.empty() ? std::span(few_).first(size_) : std::span(more_);
  }
  [[nodiscard]] std::span<const unsigned long> span() const noexcept {
    return more_.empty() ? std::span(few_).first(size_) : std::span(more_);
  }
  [[nodiscard]] unsigned long& operator[](std::size_t i) noexcept { return span()[i]; }
  [[nodiscard]] unsigned long operator[](std::size_t i) const noexcept { return span()[i]; }

  /// New words are 0.
  void resize(std::size_t count) {
    if (!more_.empty()) {
      if (count <= in_place_max) {
        shrink_into_place(count);
      } else {
        more_.resize(count);
      }
      return;
    }
    if (count > in_place_max) {
      std::vector<unsigned long> all(count);
      std::copy_n(few_.begin(), size_, all.begin());
      more_ = std::move(all);
      size_ = 0;
      return;
    }
    for (std::size_t i = size_; i < count; ++i) few_[i] = 0;
    size_ = count;
  }
  void assign(std::span<const unsigned long> words) {
    resize(words.size());
    std::ranges::copy(words, span().begin());
  }
  /// Without zero words at the end, equal sets have equal words.
  void trim() noexcept {
    std::size_t count = size();
    const auto words = span();
    while (count != 0 && words[count - 1] == 0) --count;
    if (more_.empty()) {
      size_ = count;
    } else if (count <= in_place_max) {
      shrink_into_place(count);
    } else {
      more_.erase(more_.begin() + static_cast<std::ptrdiff_t>(count), more_.end());
    }
  }
  friend bool operator==(const id_words& a, const id_words& b) noexcept {
    return std::ranges::equal(a.span(), b.span());
  }

 private:
  void shrink_into_place(std::size_t count) noexcept {
    std::copy_n(more_.begin(), count, few_.begin());
    size_ = count;
    more_.clear();
  }

  std::array<unsigned long, in_place_max> few_{};
  std::size_t size_ = 0;             // of few_; 0 while there are more
  std::vector<unsigned long> more_;  // all of them, if they are too many
};

}  // namespace homing::platform
