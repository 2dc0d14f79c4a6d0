/// Regions of a program that the lab counts apart; next to free on real machines (<homing/lab.h> is the same for C).
///
///   homing::lab::region solve("solve");   // until the end of the block
///
/// Threads: any; a region that several threads open is open from the first begin to the last end.
/// Errors:  begin() and end(): none. A label is printable ASCII, of which the first 63 bytes count.
/// Source:  docs/design/0006-the-lab.md.
#pragma once

#include <homing/lab.h>

#include <string>
#include <utility>

namespace homing::lab {

inline void begin(const char* label) noexcept { homing_lab_begin(label); }
inline void end(const char* label) noexcept { homing_lab_end(label); }

/// A region as long as its object lives. The label is copied.
class region {
 public:
  explicit region(std::string label) : label_(std::move(label)) { begin(label_.c_str()); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;
  ~region() { end(label_.c_str()); }

 private:
  std::string label_;
};

}  // namespace homing::lab
