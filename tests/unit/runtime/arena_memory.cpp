// Blocks of ended arenas: the next arena of the same size gets one, as many are kept as are meant to be, and threads
// that take and put at once never share one.
#include "runtime/arena/arena_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using homing::scheduler::arena_memory;

TEST(arena_memory, gives_the_block_of_the_last_that_ended_to_the_next_of_its_size) {
  arena_memory memory;
  void* const first = memory.take(4096);
  void* const second = memory.take(8192);
  memory.put(first, 4096);
  memory.put(second, 8192);
  EXPECT_EQ(memory.take(4096), first);
  void* const other = memory.take(4096);
  EXPECT_NE(other, first);
  EXPECT_EQ(memory.take(8192), second);
  memory.put(first, 4096);
  memory.put(second, 8192);
  memory.put(other, 4096);
}

TEST(arena_memory, aligns_blocks_to_cache_lines) {
  arena_memory memory;
  for (const std::size_t bytes : {std::size_t{128}, std::size_t{4096}, 2 * arena_memory::kept_bytes_max}) {
    void* const block = memory.take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % homing::sync::cache_line_bytes, 0U) << bytes;
    std::memset(block, 1, bytes);
    memory.put(block, bytes);
  }
}

TEST(arena_memory, lets_the_oldest_go_when_there_are_too_many) {
  arena_memory memory;
  std::vector<void*> blocks;
  for (unsigned i = 0; i != arena_memory::kept_max + 3; ++i) blocks.push_back(memory.take(4096));
  for (void* const block : blocks) memory.put(block, 4096);
  std::vector<void*> again;
  for (unsigned i = 0; i != arena_memory::kept_max; ++i) again.push_back(memory.take(4096));
  EXPECT_TRUE(std::equal(again.begin(), again.end(), blocks.rbegin()));  // the newest first
  for (void* const block : again) memory.put(block, 4096);
  memory.free_all();
}

TEST(arena_memory, no_two_have_one_block) {
  constexpr int rounds = 20'000;
  arena_memory memory;
  const auto use = [&](unsigned char mark) {
    for (int round = 0; round < rounds; ++round) {
      const std::size_t bytes = round % 3 == 0 ? 512 : 256;
      auto* const block = static_cast<unsigned char*>(memory.take(bytes));
      std::memset(block, mark, bytes);
      ASSERT_TRUE(std::all_of(block, block + bytes, [&](unsigned char c) { return c == mark; }));
      memory.put(block, bytes);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned char mark = 1; mark != 5; ++mark) threads.emplace_back(use, mark);
}

}  // namespace
