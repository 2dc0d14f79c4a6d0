/// The regions of a program: what was counted while each was open.
///
/// A region is open from the first begin to the last end of its label; its virtual time is that of the clock that is
/// farthest at its end less that at its beginning. Regions may nest and overlap, each counts by itself.
/// Threads: all calls from any; one lock.
#pragma once

#include <homing/lab.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cpu.hpp"
#include "pacer.hpp"
#include "stable_vector.hpp"

namespace homing::lab::model {

/// One CPU between two moments.
struct cpu_share {
  count_row program, kernel;
  ticks busy = 0;
};

struct region_total {
  std::string label;
  std::uint64_t entries = 0, waits = 0, given_up = 0;
  ticks virtual_time = 0;
  std::vector<cpu_share> cpus;
};

class regions {
 public:
  static constexpr std::size_t labels_max = 4096;

  static constexpr const char* whole = "whole";  // the lab's own region, of all from the calibration to the end

  regions(const stable_vector<cpu_state>& cpus, pacer& clocks) : cpus_(cpus), clocks_(clocks) {}

  /// Begins the lab's own, which no label can end: a program's label of that name means it, and does nothing.
  void open_whole();
  /// Returns false if there are too many labels to add this one, which is counted.
  bool open(const std::string& label);
  /// Returns false if no such region is open.
  bool close(const std::string& label);
  /// Every region so far; open ones until now.
  [[nodiscard]] std::vector<region_total> totals() const;
  /// How often a region was begun for whose label there was no room.
  [[nodiscard]] std::uint64_t left_out() const {
    const std::lock_guard guard(lock_);
    return left_out_;
  }

 private:
  struct moment {
    ticks front = 0;
    std::uint64_t waits = 0, given_up = 0;
    std::vector<cpu_share> cpus;
  };
  struct region {
    std::uint64_t order = 0, depth = 0;
    moment opened;
    region_total total;
  };
  [[nodiscard]] moment now() const;
  void open(region& r);
  static void add(region_total& total, const moment& from, const moment& to);

  const stable_vector<cpu_state>& cpus_;
  pacer& clocks_;
  mutable std::mutex lock_;
  region whole_;                           // depth 0 until it is open
  std::map<std::string, region> regions_;  // those of labels
  std::uint64_t left_out_ = 0;
};

/// Puts labels and notes together out of single letters, which threads send as they come.
///
/// Threads: all calls from any. A sender is who sends, by the address of its stack: threads of one process are told
///          apart, but a process and its fork are not.
class letters {
 public:
  static constexpr std::size_t length_max = HOMING_LAB_LABEL_MAX, note_max = HOMING_LAB_NOTE_MAX;
  void add(std::uint64_t sender, char letter);
  /// The label so far, which is over; letters that are not printable are question marks, and no label is "unnamed".
  [[nodiscard]] std::string take(std::uint64_t sender);
  /// The same of a note, which may have any bytes but controls: it names files.
  [[nodiscard]] std::string take_note(std::uint64_t sender);

 private:
  [[nodiscard]] std::string take_bytes(std::uint64_t sender, std::size_t length);

  std::mutex lock_;
  std::map<std::uint64_t, std::string> labels_;
};

}  // namespace homing::lab::model
