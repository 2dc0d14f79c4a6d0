// Blocks are aligned to 128 bytes, usable to their last byte and refused with bad_alloc: sizes at the edges.
#include "memory/cache_aligned.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <thread>

#include "platform/sanitizer.hpp"

namespace {

using namespace homing::memory;

TEST(cache_aligned, blocks_are_aligned_and_whole) {
  for (const std::size_t bytes : {0UL, 1UL, 127UL, 128UL, 129UL, 4096UL, 1000000UL}) {
    void* const block = cache_aligned_allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % cache_alignment_bytes, 0U) << bytes;
    std::memset(block, 1, bytes);
    cache_aligned_deallocate(block);
    void* const plain = plain_allocate(bytes);
    ASSERT_NE(plain, nullptr);
    std::memset(plain, 1, bytes);
    plain_deallocate(plain);
  }
}

TEST(cache_aligned, impossible_sizes_throw) {
  if (homing::platform::sanitizer_tracks_malloc) {
    GTEST_SKIP() << "sanitizers end the program at such sizes";
  }
  // Volatile, so that the compiler does not judge the sizes.
  for (volatile std::size_t bytes : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX - 200, SIZE_MAX / 2}) {
    EXPECT_THROW(static_cast<void>(cache_aligned_allocate(bytes)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(plain_allocate(bytes)), std::bad_alloc);
  }
}

TEST(cache_aligned, null_may_be_freed_and_other_threads_may_free) {
  cache_aligned_deallocate(nullptr);
  plain_deallocate(nullptr);
  void* const block = cache_aligned_allocate(1000);
  std::thread([block] { cache_aligned_deallocate(block); }).join();
}

}  // namespace
