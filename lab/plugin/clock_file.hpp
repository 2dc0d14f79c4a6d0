/// Memory that the plugin and the guest both see, in which the guest's threads find the virtual time that they asked
/// for.
///
/// A word is eight bytes at an offset that the guest's thread chose: where it mapped this memory, the lowest bits of an
/// address are the offset.
/// Threads: tell() by any; two that name one word at once leave one of both times there.
/// Errors:  construction throws machine_error.
/// Source:  docs/protocols/lab_clock.md.
#pragma once

#include <homing/lab.h>

#include <atomic>
#include <cstdint>
#include <filesystem>

namespace homing::lab::model {

class clock_file {
 public:
  /// Maps `file`, of HOMING_LAB_CLOCK_BYTES.
  explicit clock_file(const std::filesystem::path& file);
  clock_file(const clock_file&) = delete;
  clock_file& operator=(const clock_file&) = delete;
  ~clock_file();

  /// From now on readers find the clock. `epoch_s`: what calendar time its zero is.
  void start(std::uint64_t epoch_s) noexcept;
  /// The answer to a mark that loaded from `address`. The header is left alone.
  void tell(std::uint64_t address, std::uint64_t ns) noexcept {
    const std::uint64_t offset = address & (HOMING_LAB_CLOCK_BYTES - 1) & ~std::uint64_t{7};
    // [LT3] Relaxed: the one who reads it runs on the same host thread, later.
    if (offset >= HOMING_LAB_CLOCK_HEADER_BYTES) words_[offset / 8].store(ns, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t>* words_;
};

}  // namespace homing::lab::model
