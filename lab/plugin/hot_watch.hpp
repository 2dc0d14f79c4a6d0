/// What `homing lab run --hot` asks for: the lines that CPUs take from each other, the code that takes the time, and
/// what the program says of its memory (HOMING_LAB_NOTE), in one file.
///
/// Threads: as its parts say; add_note() and document() by any.
/// Errors:  none; write_counts() writes the file.
/// Source:  docs/design/0006-the-lab.md, "Hot lines".
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "hot_code.hpp"
#include "hot_lines.hpp"
#include "machine.hpp"

namespace homing::lab::model {

class hot_watch {
 public:
  static constexpr std::size_t lines_written_max = 200;
  static constexpr std::size_t notes_max = 1U << 16U;

  hot_watch(std::filesystem::path file, unsigned cpus) : lines(cpus), code(cpus), file_(std::move(file)) {}

  void add_note(std::string note) {
    const std::lock_guard guard(lock_);
    if (notes_.size() < notes_max) notes_.push_back(std::move(note));
  }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// hot.json, as text.
  [[nodiscard]] std::string document(const machine& m, const time_scale& scale) const;

  hot_lines lines;
  hot_code code;

 private:
  std::filesystem::path file_;
  mutable std::mutex lock_;
  std::vector<std::string> notes_;
};

}  // namespace homing::lab::model
