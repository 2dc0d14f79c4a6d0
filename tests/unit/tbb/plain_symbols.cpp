// Exceptions, assertions, versions and allocation answer as oneTBB's users expect: each entry is called once and its
// answer compared.
#define TBB_PREVIEW_NUMA_ALLOCATION 1
#include <gtest/gtest.h>
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/detail/_assert.h>
#include <oneapi/tbb/detail/_exception.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/numa_allocation.h>
#include <oneapi/tbb/profiling.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <oneapi/tbb/version.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

namespace r1 = tbb::detail::r1;
using id = tbb::detail::exception_id;

struct thrown {
  id which;
  const std::type_info* type;
  const char* message;
};

TEST(exception, types_and_messages) {
  const thrown table[] = {
      {id::bad_alloc, &typeid(std::bad_alloc), "std::bad_alloc"},
      {id::bad_last_alloc, &typeid(r1::bad_last_alloc), "bad allocation in previous or concurrent attempt"},
      {id::user_abort, &typeid(r1::user_abort), "User-initiated abort has terminated this operation"},
      {id::nonpositive_step, &typeid(std::invalid_argument), "Step must be positive"},
      {id::out_of_range, &typeid(std::out_of_range), "Index out of requested size range"},
      {id::reservation_length_error, &typeid(std::length_error),
       "Attempt to exceed implementation defined length limits"},
      {id::missing_wait, &typeid(r1::missing_wait), "wait() was not called on the structured_task_group"},
      {id::invalid_load_factor, &typeid(std::out_of_range), "Invalid hash load factor"},
      {id::invalid_key, &typeid(std::out_of_range), "invalid key"},
      {id::bad_tagged_msg_cast, &typeid(std::runtime_error), "Illegal tagged_msg cast"},
      {id::unsafe_wait, &typeid(r1::unsafe_wait), "Unsafe to wait further"},
  };
  for (const thrown& expected : table) {
    try {
      tbb::detail::throw_exception(expected.which);
      ADD_FAILURE() << expected.message << " was not thrown";
    } catch (const std::exception& e) {
      EXPECT_EQ(typeid(e), *expected.type);
      EXPECT_STREQ(e.what(), expected.message);
    }
  }
}

TEST(assertion, the_default_handler_prints_one_message_and_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(r1::assertion_failure("f", 12, "x == 1", nullptr),
               "^Assertion x == 1 failed \\(located in the f function, line in file: 12\\)\n$");
  EXPECT_DEATH(r1::assertion_failure("f", 12, "x == 1", "because"),
               "line in file: 12\\)\nDetailed description: because\n$");
  const auto many_at_once = [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([] { r1::assertion_failure("f", 12, "once", nullptr); });
    }
    for (auto& thread : threads) {
      thread.join();
    }
  };
  EXPECT_DEATH(many_at_once(), "^Assertion once failed [^\n]*\n$");
}

int handled_line = 0;

TEST(assertion, a_handler_replaces_the_default_until_null_restores_it) {
  const auto standard = tbb::ext::get_assertion_handler();
  const tbb::ext::assertion_handler_type mine = [](const char*, int line, const char*, const char*) {
    handled_line = line;
  };
  EXPECT_EQ(tbb::ext::set_assertion_handler(mine), standard);
  EXPECT_EQ(tbb::ext::get_assertion_handler(), mine);
  r1::assertion_failure("f", 1, "x", nullptr);
  EXPECT_EQ(handled_line, 1);
  r1::assertion_failure("f", 2, "x", nullptr);
  EXPECT_EQ(handled_line, 2);
  EXPECT_EQ(tbb::ext::set_assertion_handler(nullptr), mine);
  EXPECT_EQ(tbb::ext::get_assertion_handler(), standard);
}

TEST(version, tells_the_interface_and_whose_library_it_is) {
  EXPECT_EQ(TBB_runtime_interface_version(), TBB_INTERFACE_VERSION);
  const std::string version = TBB_runtime_version();
  EXPECT_EQ(version.rfind(TBB_VERSION_STRING, 0), 0U);
  EXPECT_NE(version.find("homing"), std::string::npos);
}

TEST(allocation, under_terminate_on_exception_a_block_that_cannot_be_had_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::size_t too_much = SIZE_MAX / 2;
  const auto ask = [too_much](void* (*allocate)(std::size_t)) {
    const tbb::global_control control(tbb::global_control::terminate_on_exception, 1);
    try {
      r1::cache_aligned_deallocate(allocate(too_much));
    } catch (const std::bad_alloc&) {
    }
    std::exit(0);
  };
  EXPECT_DEATH(ask(r1::cache_aligned_allocate), "bad_alloc");
  EXPECT_DEATH(ask(r1::allocate_memory), "bad_alloc");
}

/// Runs this program once more, doing nothing, and returns what it writes to stderr.
std::string stderr_of_a_start(const std::string& environment) {
  char path[4096] = {};
  EXPECT_GT(::readlink("/proc/self/exe", path, sizeof path - 1), 0);
  std::FILE* const pipe = ::popen((environment + " '" + path + "' --gtest_list_tests 2>&1 >/dev/null").c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
    text.push_back(static_cast<char>(c));
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return text;
}

TEST(version, prints_its_lines_once_when_asked_to) {
  const std::string lines = stderr_of_a_start("TBB_VERSION=1");
  EXPECT_NE(lines.find("oneTBB: VERSION\t\t" TBB_VERSION_STRING "\n"), std::string::npos) << lines;
  const std::size_t homing = lines.find("Homing: VERSION\t\t");
  EXPECT_NE(homing, std::string::npos) << lines;
  EXPECT_EQ(lines.find("Homing: VERSION", homing + 1), std::string::npos) << lines;
  EXPECT_EQ(stderr_of_a_start("TBB_VERSION=0"), "");
  EXPECT_NE(stderr_of_a_start("TBB_VERSION=yes").find("TBB_VERSION=yes is not valid: expected 0 or 1"),
            std::string::npos);
}

TEST(allocation, cache_aligned_and_plain) {
  EXPECT_EQ(r1::cache_line_size(), 128U);
  tbb::cache_aligned_allocator<char> aligned;
  char* const block = aligned.allocate(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % r1::cache_line_size(), 0U);
  std::memset(block, 1, 100);
  aligned.deallocate(block, 100);
  tbb::tbb_allocator<char> plain;
  char* const other = plain.allocate(100);
  std::memset(other, 1, 100);
  plain.deallocate(other, 100);
  EXPECT_THROW(static_cast<void>(aligned.allocate(SIZE_MAX - 10)), std::bad_alloc);
  const bool is_scalable = ::dlopen("libtbbmalloc.so.2", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  EXPECT_EQ(tbb::tbb_allocator<int>::allocator_type(),
            is_scalable ? tbb::tbb_allocator<int>::scalable : tbb::tbb_allocator<int>::standard);
}

TEST(allocation, interleaved) {
  EXPECT_EQ(tbb::allocate_numa_interleaved(0), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(1 << 20, std::vector<tbb::numa_node_id>{}), nullptr);
  EXPECT_EQ(tbb::allocate_numa_interleaved(1 << 20, 1), nullptr);
  void* const memory = tbb::allocate_numa_interleaved(1 << 20);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 1, 1 << 20);
  tbb::deallocate_numa_interleaved(memory, 1 << 20);
}

TEST(instrumentation, hooks_may_be_called) {
  int object = 0;
  r1::call_itt_notify(0, &object);
  r1::create_itt_sync(&object, "type", "name");
  r1::itt_set_sync_name(&object, "name");
}

}  // namespace
