/// The floating-point control settings of a thread: read, compare, set.
///
/// Only control bits (rounding, masks, flush to zero), never the exception flags that a computation sets.
/// Threads: they belong to the calling thread. Source: oneTBB's documentation of task_group_context::fp_settings.
#pragma once

#include <cfenv>
#include <cstdint>

namespace homing::platform {

/// One word, never 0 once read.
class fp_settings {
 public:
  constexpr fp_settings() = default;
  explicit constexpr fp_settings(std::uint64_t word) noexcept : word_(word) {}

  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
  [[nodiscard]] constexpr bool captured() const noexcept { return word_ != 0; }
  constexpr bool operator==(const fp_settings&) const = default;

  [[nodiscard]] static fp_settings of_this_thread() noexcept {
#if defined(__x86_64__)
    std::uint32_t mxcsr = 0;
    std::uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return fp_settings{present | (std::uint64_t{x87} << 32U) | (mxcsr & ~mxcsr_flags)};
#elif defined(__aarch64__)
    std::uint64_t fpcr = 0;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fp_settings{present | fpcr};
#else
    return fp_settings{present | static_cast<std::uint64_t>(static_cast<unsigned>(std::fegetround()))};
#endif
  }

  void set_on_this_thread() const noexcept {
#if defined(__x86_64__)
    std::uint32_t now = 0;
    asm volatile("stmxcsr %0" : "=m"(now));
    const std::uint32_t mxcsr = static_cast<std::uint32_t>(word_ & ~std::uint64_t{mxcsr_flags}) | (now & mxcsr_flags);
    const auto x87 = static_cast<std::uint16_t>(word_ >> 32U);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(word_ & ~present));
#else
    std::fesetround(static_cast<int>(word_ & 0xFFFFFFFFU));
#endif
  }

 private:
  static constexpr std::uint64_t present = std::uint64_t{1} << 63U;
  static constexpr std::uint32_t mxcsr_flags = 0x3F;
  std::uint64_t word_ = 0;
};

/// Puts the settings that the scope began with back at its end, if they were changed through it. What user code changes
/// in between stays, as with oneTBB: to read the settings again would take a fifth of a visit to an arena.
class fp_guard {
 public:
  fp_guard() noexcept : at_entry_(fp_settings::of_this_thread()), now_(at_entry_) {}
  ~fp_guard() {
    if (!now_.captured()) {
      now_ = fp_settings::of_this_thread();
    }
    use(at_entry_);
  }
  fp_guard(const fp_guard&) = delete;
  fp_guard& operator=(const fp_guard&) = delete;

  void use(fp_settings wanted) noexcept {
    if (wanted.captured() && wanted != now_) {
      wanted.set_on_this_thread();
      now_ = wanted;
    }
  }

  /// Where a task was left by an exception, in the middle of its own changes: the next use() sets again.
  void forget() noexcept { now_ = fp_settings{}; }

 private:
  fp_settings at_entry_;
  fp_settings now_;
};

}  // namespace homing::platform
