// A program without TBB loads and unloads a plugin that has it: results are right each time, and no thread is left when
// the plugin is gone. What the C library calls later stays: libhoming.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "unit/common/await.hpp"
#include "unit/common/worker_threads.hpp"

namespace {

TEST(plugin, can_be_loaded_and_unloaded_again_and_again) {
  constexpr long count = 100'000;
  for (int round = 0; round < 300; ++round) {
    void* plugin = dlopen(HOMING_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    auto* sum = reinterpret_cast<long (*)(long)>(dlsym(plugin, "plugin_sum"));
    ASSERT_NE(sum, nullptr);
    ASSERT_EQ(sum(count), count * (count + 1) / 2);
    ASSERT_EQ(dlclose(plugin), 0);
    // The kernel lists a thread for a moment after it has been joined.
    homing::testing::await("the end of all workers", [] { return homing::testing::worker_threads().empty(); });
  }
}

TEST(libhoming, stays_for_forks_and_for_the_ends_of_threads) {
  void* const library = dlopen(HOMING_TEST_LIBHOMING, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  ASSERT_EQ(dlclose(library), 0);
  EXPECT_NE(dlopen(HOMING_TEST_LIBHOMING, RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
