/// Which misses a core would have fetched ahead: those of streams. Lines are virtual line numbers, whose order is the
/// program's.
///
/// A stream is at least three misses at one distance, of at most 32 lines. A miss that is the next of a stream goes on
/// with it, whatever came in between: rows that are read side by side are followed each by itself. Any other miss is
/// kept for a while as a *single*. It is the third of a new stream if two singles lie behind it at one distance and at
/// twice that. Where distances compete, the shortest wins. No miss turns a stream or ends it: it is forgotten when 64
/// others were used since.
///
/// Threads: its CPU's only.
/// Source:  what processors' prefetchers do; Intel's optimization manual, "Data Prefetching".
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace homing::lab::model {

/// So many places with a line each; which of them are near a line is found by pages of 64 lines.
template <std::uint8_t Places>
class places_of_lines {
 public:
  static constexpr std::uint64_t page_lines = 64;

  places_of_lines() {
    lines_.fill(none);
    first_.fill(end);
  }
  /// What was in the place is gone.
  void put(std::uint8_t place, std::uint64_t line) noexcept {
    std::uint8_t& first = chain(line / page_lines);
    if (lines_[place] != none) {
      std::uint8_t* link = &chain(lines_[place] / page_lines);
      if (link == &first) {
        lines_[place] = line;
        return;
      }
      while (*link != place) link = &after_[*link];
      *link = after_[place];
    }
    lines_[place] = line;
    after_[place] = first;
    first = place;
  }
  /// Calls `each` with the place and the distance from its line to `line`, for all that are at most a page away, and
  /// for some others.
  template <class Each>
  void near(std::uint64_t line, Each each) const noexcept {
    const std::uint64_t page = line / page_lines;
    const std::uint8_t here = chain(page), below = chain(page - 1), above = chain(page + 1);
    if ((here & below & above) == end) return;  // mostly
    for (std::uint8_t i : {here, below, above}) {
      for (; i != end; i = after_[i]) each(i, static_cast<std::int64_t>(line - lines_[i]));
    }
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::uint8_t end = 0xff;
  static_assert(Places < end);
  static constexpr std::size_t chains = 2048;  // so many that those near a line far from all others are empty
  [[nodiscard]] const std::uint8_t& chain(std::uint64_t page) const noexcept { return first_[page % chains]; }
  [[nodiscard]] std::uint8_t& chain(std::uint64_t page) noexcept { return first_[page % chains]; }

  std::array<std::uint64_t, Places> lines_;
  std::array<std::uint8_t, Places> after_{};
  std::array<std::uint8_t, chains> first_;
};

class stream_detector {
 public:
  static constexpr std::int64_t distance_max = 32;
  static constexpr std::uint8_t streams = 64, singles = 2 * streams;

  /// Notes a miss. Returns true if it continues a stream.
  bool miss(std::uint64_t line) noexcept {
    ++now_;
    if (goes_on(line)) return true;
    const std::int64_t step = begins(line);
    if (step != 0) follow(oldest(), line, step);
    return step != 0;
  }

 private:
  /// A miss at a stream's last line is the same one again.
  bool goes_on(std::uint64_t line) noexcept {
    std::uint8_t next = streams, again = streams;
    last_.near(line, [&](std::uint8_t i, std::int64_t distance) {
      if (distance == steps_[i] && (next == streams || std::abs(distance) < std::abs(steps_[next]))) next = i;
      if (distance == 0) again = i;
    });
    if (next != streams) {
      follow(next, line, steps_[next]);
    } else if (again != streams) {
      used_[again] = now_;
    }
    return next != streams || again != streams;
  }
  /// Keeps a single. Returns the distance of the stream that begins with it, or 0.
  std::int64_t begins(std::uint64_t line) noexcept {
    constexpr std::int64_t reach = 2 * distance_max;
    std::uint64_t below = 0, above = 0;         // bit d - 1: there is a single d lines away
    std::uint8_t place_at[2 * reach + 1] = {};  // of that at each distance, where there is one
    bool here = false;
    singles_.near(line, [&](std::uint8_t i, std::int64_t distance) {
      if (distance < -reach || distance > reach) return;
      place_at[reach + distance] = i;
      if (distance > 0) below |= std::uint64_t{1} << (distance - 1);
      if (distance < 0) above |= std::uint64_t{1} << (-distance - 1);
      here |= distance == 0;
    });
    std::int64_t step = 0;
    for (std::uint64_t left = twice(below) | twice(above); left != 0 && step == 0; left &= left - 1) {
      const std::int64_t d = std::countr_zero(left) + 1;
      const auto follows = [&](std::uint64_t there, std::int64_t distance) {
        return (twice(there) >> (d - 1) & 1) != 0 &&
               age(place_at[reach + 2 * distance]) > age(place_at[reach + distance]);
      };
      step = follows(below, d) ? d : follows(above, -d) ? -d : 0;
    }
    if (!here) {
      singles_.put(next_single_, line);
      next_single_ = next_single_ + 1 == singles ? 0 : next_single_ + 1;
    }
    return step;
  }
  /// Bit d - 1 of the result: there is one at d and at 2 d.
  static std::uint64_t twice(std::uint64_t there) noexcept {
    std::uint64_t even = there >> 1 & 0x5555555555555555;  // those at 2 d, at bit 2 d - 2: to bit d - 1
    even = (even | even >> 1) & 0x3333333333333333;
    even = (even | even >> 2) & 0x0f0f0f0f0f0f0f0f;
    even = (even | even >> 4) & 0x00ff00ff00ff00ff;
    even = (even | even >> 8) & 0x0000ffff0000ffff;
    return there & (even | even >> 16) & 0xffffffff;
  }
  /// How many singles came since.
  [[nodiscard]] unsigned age(std::uint8_t place) const noexcept {
    return place < next_single_ ? next_single_ - place : next_single_ + singles - place;
  }
  void follow(std::uint8_t i, std::uint64_t line, std::int64_t step) noexcept {
    last_.put(i, line);
    steps_[i] = step;
    used_[i] = now_;
  }
  [[nodiscard]] std::uint8_t oldest() const noexcept {
    std::uint8_t found = 0;
    for (std::uint8_t i = 1; i != streams; ++i) {
      if (used_[i] < used_[found]) found = i;
    }
    return found;
  }

  places_of_lines<streams> last_;  // miss of each stream
  std::array<std::int64_t, streams> steps_{};
  std::array<std::uint64_t, streams> used_{};
  places_of_lines<singles> singles_;
  std::uint8_t next_single_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace homing::lab::model
