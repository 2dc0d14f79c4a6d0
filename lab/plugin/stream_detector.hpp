/// Which misses a core would have fetched ahead: those of streams. Lines are virtual line numbers, whose order is the
/// program's.
///
/// A miss belongs to a stream if it continues one: the same distance from the stream's last miss as that had from the
/// one before, at most 32 lines. Single misses at random addresses take the place of each other, not of streams: a
/// stream is followed as prefetchers do that know its instruction.
///
/// Threads: its CPU's only.
/// Source:  what processors' prefetchers do; Intel's optimization manual, "Data Prefetching".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace homing::lab::model {

class stream_detector {
 public:
  static constexpr std::int64_t distance_max = 32;
  static constexpr std::uint8_t streams = 64;
  static constexpr std::uint64_t followed_misses_max = 1024;  // for so many of others a stream is not forgotten

  stream_detector() {
    near_[bucket(streams_[0].last)] = streams;
    for (const std::uint8_t sentinel : {new_ones, followed}) order_[sentinel] = {sentinel, sentinel};
    for (std::uint8_t i = 0; i != streams; ++i) append(i, new_ones);
  }

  /// Notes a miss. Returns true if it continues a stream.
  bool miss(std::uint64_t line) noexcept {
    ++now_;
    if (near_[bucket(line - distance_max)] != 0 || near_[bucket(line + distance_max)] != 0) {
      for (std::uint8_t i = 0; i != streams; ++i) {
        const auto distance = static_cast<std::int64_t>(line - streams_[i].last);
        if (distance < -distance_max || distance > distance_max) continue;
        const bool goes_on = distance == 0 ? streams_[i].step != 0 : distance == streams_[i].step;
        use(i, line, distance == 0 ? streams_[i].step : distance);
        return goes_on;
      }
    }
    use(oldest(), line, 0);
    return false;
  }

 private:
  struct stream {
    std::uint64_t last = ~std::uint64_t{0} >> 1;
    std::int64_t step = 0;
    std::uint64_t used = 0;
  };
  /// A stream in the list of its kind, that which was used last at the end.
  struct link {
    std::uint8_t before, after;
  };
  static constexpr std::uint8_t new_ones = streams, followed = streams + 1;  // the lists' sentinels
  static constexpr std::size_t buckets = 2048;

  static std::size_t bucket(std::uint64_t line) noexcept { return line / (2 * distance_max) % buckets; }

  void use(std::uint8_t i, std::uint64_t line, std::int64_t step) noexcept {
    --near_[bucket(streams_[i].last)];
    ++near_[bucket(line)];
    streams_[i] = {line, step, now_};
    order_[order_[i].before].after = order_[i].after;
    order_[order_[i].after].before = order_[i].before;
    append(i, step == 0 ? new_ones : followed);
  }
  void append(std::uint8_t i, std::uint8_t sentinel) noexcept {
    order_[i] = {order_[sentinel].before, sentinel};
    order_[order_[i].before].after = i;
    order_[sentinel].before = i;
  }
  [[nodiscard]] std::uint8_t oldest() const noexcept {
    const std::uint8_t a = order_[new_ones].after, b = order_[followed].after;
    if (a == new_ones) return b;
    if (b == followed) return a;
    const std::uint64_t age_a = now_ - streams_[a].used + followed_misses_max, age_b = now_ - streams_[b].used;
    return age_a > age_b || (age_a == age_b && a < b) ? a : b;
  }

  std::array<stream, streams> streams_;
  std::array<link, streams + 2> order_{};
  std::array<std::uint8_t, buckets> near_{};  // how many streams' last misses are in each
  std::uint64_t now_ = 0;
};

}  // namespace homing::lab::model
