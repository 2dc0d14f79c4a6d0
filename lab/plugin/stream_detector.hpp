/// Which misses a core would have fetched ahead: those of streams. Lines are virtual line numbers, whose order is the
/// program's.
///
/// A miss belongs to a stream if it continues one: the same distance from the stream's last miss as that had from the
/// one before, at most 32 lines. Single misses at random addresses take the place of each other, not of streams: a
/// stream is followed as prefetchers do that know its instruction. Threads: its CPU's only. Source:  what processors'
/// prefetchers do; Intel's optimization manual, "Data Prefetching".
#pragma once

#include <array>
#include <cstdint>

namespace homing::lab::model {

class stream_detector {
 public:
  static constexpr std::int64_t distance_max = 32;
  static constexpr unsigned streams = 64;
  static constexpr std::uint64_t followed_misses_max = 1024;  // for so many of others a stream is not forgotten

  /// Notes a miss. Returns true if it continues a stream.
  bool miss(std::uint64_t line) noexcept {
    ++now_;
    stream* oldest = &table_[0];
    const auto age = [&](const stream& s) { return now_ - s.used + (s.step == 0 ? followed_misses_max : 0); };
    for (stream& s : table_) {
      const auto distance = static_cast<std::int64_t>(line - s.last);
      if (distance == 0) {
        s.used = now_;
        return s.step != 0;
      }
      if (distance >= -distance_max && distance <= distance_max) {
        const bool goes_on = distance == s.step;
        s = {line, distance, now_};
        return goes_on;
      }
      if (age(s) > age(*oldest)) oldest = &s;
    }
    *oldest = {line, 0, now_};
    return false;
  }

 private:
  struct stream {
    std::uint64_t last = ~std::uint64_t{0} >> 1;
    std::int64_t step = 0;
    std::uint64_t used = 0;
  };
  std::array<stream, streams> table_;
  std::uint64_t now_ = 0;
};

}  // namespace homing::lab::model
