/// Invariants: what the code itself promises, as opposed to what its users or the system may get wrong.
///
/// Threads: any. Errors: a broken invariant ends the process with a message that names the rule of docs/protocols.
#pragma once

namespace homing::platform {

/// Invariants on hot paths are looked at in debug and sanitizer builds only.
#ifdef NDEBUG
inline constexpr bool checks_hot_paths = false;
#else
inline constexpr bool checks_hot_paths = true;
#endif

/// Prints what was promised, and aborts.
[[noreturn, gnu::cold, gnu::noinline]] void invariant_broken(const char* promise) noexcept;

/// For cold paths: looked at in every build.
inline void require(bool holds, const char* promise) noexcept {
  if (__builtin_expect(!holds, false)) {
    invariant_broken(promise);
  }
}

/// For hot paths: the question is asked where checks_hot_paths.
template <typename Question>
inline void require_hot([[maybe_unused]] Question&& holds, [[maybe_unused]] const char* promise) noexcept {
  if constexpr (checks_hot_paths) {
    require(holds(), promise);
  }
}

}  // namespace homing::platform
