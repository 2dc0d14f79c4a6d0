/// What the build's sanitizers have to be told, as plain functions that cost nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HOMING_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOMING_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define HOMING_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOMING_THREAD_SANITIZER 1
#endif
#endif

#if defined(HOMING_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace homing::platform {

/// True in a build whose sanitizer wants to see every allocation in malloc.
#if defined(HOMING_ADDRESS_SANITIZER) || defined(HOMING_THREAD_SANITIZER)
inline constexpr bool sanitizer_tracks_malloc = true;
#else
inline constexpr bool sanitizer_tracks_malloc = false;
#endif

/// Makes AddressSanitizer report any access to [start, start + bytes) until unpoison_memory().
inline void poison_memory([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(HOMING_ADDRESS_SANITIZER)
  __asan_poison_memory_region(start, bytes);
#endif
}

/// Allows access to [start, start + bytes) again.
inline void unpoison_memory([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(HOMING_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(start, bytes);
#endif
}

/// What [start, start + bytes) points to is no leak. Of memory that malloc does not know.
inline void count_as_reachable([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(HOMING_ADDRESS_SANITIZER)
  __lsan_register_root_region(start, bytes);
#endif
}

}  // namespace homing::platform
