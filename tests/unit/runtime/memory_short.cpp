// Memory runs out while the scheduler runs: who asks for something gets std::bad_alloc, and nothing else fails, above
// all not what has nobody to tell. The test's own operator new() stands before the library's and refuses.
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/arena/arena.hpp"
#include "runtime/task/indices.hpp"
#include "runtime/thread/thread_state.hpp"
#include "runtime/workers/resource_manager.hpp"
#include "unit/common/await.hpp"
#include "unit/common/busy_arena.hpp"
#include "unit/common/own_process.hpp"

namespace {

namespace sync = homing::sync;
using homing::scheduler::resource_manager;
using homing::testing::await;
using homing::testing::in_own_process;
using homing::testing::on_machine;
using homing::testing::threads;

constinit sync::atomic<unsigned> refused_share{0};  ///< of 256 requests
constinit sync::atomic<std::uint32_t> state{1};
constinit sync::atomic<int> refused_workers{
    0};  ///< so many blocks: they alone are aligned and asked for without an exception
constinit sync::atomic<int> refused_slabs{0};  ///< so many mappings, in which new threads' records are

bool is_refused() noexcept {
  const unsigned share = refused_share.load(sync::relaxed);
  return share != 0 && (state.fetch_add(0x9E3779B9U, sync::relaxed) * 0x85EBCA6BU >> 24U) < share;
}

void* take(std::size_t size, std::size_t alignment) noexcept {
  if (is_refused()) {
    return nullptr;
  }
  return alignment == 0 ? std::malloc(size)
                        : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* take_or_throw(std::size_t size, std::size_t alignment) {
  void* taken = take(size, alignment);
  if (taken == nullptr) {
    throw std::bad_alloc();
  }
  return taken;
}

// Not inline: the compiler would see free() meet new.
[[gnu::noinline]] void give_back(void* p) noexcept { std::free(p); }

/// Refuses in its scope: so many of 256 requests.
class short_of_memory {
 public:
  explicit short_of_memory(unsigned share) { refused_share.store(share, sync::relaxed); }
  ~short_of_memory() { refused_share.store(0, sync::relaxed); }
  short_of_memory(const short_of_memory&) = delete;
  short_of_memory& operator=(const short_of_memory&) = delete;
};

}  // namespace

void* operator new(std::size_t size) { return take_or_throw(size, 0); }
void* operator new[](std::size_t size) { return take_or_throw(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) { return take_or_throw(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return take_or_throw(size, static_cast<std::size_t>(a)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size, 0); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size, 0); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return refused_workers.fetch_sub(1, sync::relaxed) > 0 ? nullptr : take(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }

// ThreadSanitizer maps before a function of the program's own may run.
#if defined(__SANITIZE_THREAD__)
#define SKIP_WITHOUT_OWN_MMAP() GTEST_SKIP() << "ThreadSanitizer has mmap() for itself"
#else
#define SKIP_WITHOUT_OWN_MMAP() static_cast<void>(0)

// Stacks are mapped without access first, and by the C library, which does not ask here.
extern "C" __attribute__((visibility("default"))) void* mmap(void* at, std::size_t bytes, int access, int kind,
                                                             int file, off_t offset) noexcept {
  if (kind == (MAP_PRIVATE | MAP_ANONYMOUS) && refused_slabs.load(sync::relaxed) > 0 &&
      refused_slabs.fetch_sub(1, sync::relaxed) > 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, access, kind, file, offset));
}
#endif

namespace {

const homing::testing::environment four_by_two = on_machine("node:4 core:2 pu:1");
constexpr unsigned everything = 256;

TEST(memory_short, limits_and_demand_change_without_any) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    const homing::testing::busy_arena first(8, 0U);
    const homing::testing::busy_arena second(8, 0U);
    first.expect({1, 1, 1, 1});
    resource_manager& manager = resource_manager::current();
    const homing::scheduler::lease_wish wish{
        .workers_max = 2, .from = homing::scheduler::lease_wish::source::any, .domains = {true, true, true, true}};
    for (int round = 0; round < 200; ++round) {
      const auto lease = manager.take_lease(wish, {0, false}).first;
      std::optional<tbb::global_control> lower(std::in_place, tbb::global_control::max_allowed_parallelism,
                                               1 + static_cast<std::size_t>(round % 8));
      tbb::task_arena idle(2);
      idle.initialize();
      const short_of_memory none(everything);
      manager.demand_changed();
      manager.obey_limit(resource_manager::machine_is::another);
      manager.end_lease(lease);
      idle.terminate();
      lower.reset();
    }
    first.expect({1, 1, 1, 1});
    second.expect({1, 1, 1, 1});
  });
}

TEST(memory_short, arenas_leases_and_limits_come_and_go_with_little) {
  in_own_process(four_by_two, [] {
    unsigned succeeded = 0;
    unsigned failed = 0;
    const auto attempt = [&](auto&& body) {
      try {
        body();
        ++succeeded;
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    };
    const auto limit = threads(9);
    { const homing::testing::busy_arena all_workers(8, 0U); }
    resource_manager& manager = resource_manager::current();
    sync::atomic<int> to_do{0};
    for (unsigned round = 0; round < 400; ++round) {
      const homing::scheduler::lease_wish wish{
          .workers_max = 3, .from = homing::scheduler::lease_wish::source::any, .domains = {true, false, true, true}};
      const short_of_memory little(32 + round % 128);
      attempt([&] {
        tbb::task_arena arena(2 + static_cast<int>(round % 7));
        arena.initialize();
        for (int i = 0; i < 8; ++i) {
          to_do.fetch_add(1, sync::relaxed);
          arena.enqueue([&to_do] { to_do.fetch_sub(1, sync::release); });
        }
      });
      attempt([&] {
        const auto lease = manager.take_lease(wish, {0, false}).first;
        attempt([&] { static_cast<void>(manager.renew_lease(lease, {0, false})); });
        manager.end_lease(lease);
      });
      attempt([&] { const auto lower = threads(1 + round % 9); });
    }
    EXPECT_GT(succeeded, 0U);
    EXPECT_GT(failed, 0U);
    await("all tasks that were enqueued", [&] { return to_do.load(sync::acquire) == 0; });
  });
}

/// A loop's first posts must not make its threads wait for each other at the heap.
TEST(memory_short, a_slots_first_mail_needs_none) {
  in_own_process(four_by_two, [] {
    tbb::task_arena arena(8);
    arena.execute([] {
      homing::scheduler::arena& in = *homing::scheduler::this_thread().in;
      ASSERT_EQ(in.slot_count(), 8U);
      const short_of_memory none(everything);
      for (std::uint16_t i = 0; i < 8; ++i) {
        const homing::scheduler::affinity to{i};
        const std::uintptr_t item = 64U * (i + 1U);
        ASSERT_TRUE(in.put_into_mailbox(to, item, homing::scheduler::make_tag(homing::scheduler::no_isolation, to)));
        EXPECT_EQ(in.slot(homing::scheduler::slot_of(to)).mail.get()->take([](std::uint64_t) { return true; }), item);
      }
    });
  });
}

/// It has been promised to an arena, whose pushers rely on it.
TEST(memory_short, a_worker_without_memory_for_its_record_comes_later) {
  SKIP_WITHOUT_OWN_MMAP();
  in_own_process(four_by_two, [] {
    const auto limit = threads(3);
    tbb::task_arena arena(2, 0U);
    arena.initialize();
    refused_slabs.store(1, sync::relaxed);
    try {
      for (;;)
        static_cast<void>(homing::memory::object_pool::acquire(0));  // several are mapped at once: until none is left
    } catch (const std::bad_alloc&) {
    }
    refused_slabs.store(3, sync::relaxed);
    sync::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) {
      arena.enqueue([&] { ran.fetch_add(1, sync::release); });
    }
    await("enqueued tasks", [&] { return ran.load(sync::acquire) == 20; });
    EXPECT_LE(refused_slabs.load(sync::relaxed), 0);
  });
}

/// The task was made by another thread, and its group waits for it already.
TEST(memory_short, a_deferred_task_that_a_new_thread_cannot_run_is_cancelled) {
  in_own_process(four_by_two, [] {
    tbb::task_arena arena(2);
    arena.initialize();
    const std::vector<void (*)(tbb::task_arena&, tbb::task_group&, tbb::task_handle&)> ways{
        [](tbb::task_arena&, tbb::task_group& group, tbb::task_handle& handle) { group.run(std::move(handle)); },
        [](tbb::task_arena& a, tbb::task_group&, tbb::task_handle& handle) { a.enqueue(std::move(handle)); },
        [](tbb::task_arena&, tbb::task_group&, tbb::task_handle& handle) {
          tbb::this_task_arena::enqueue(std::move(handle));
        }};
    for (const auto& hand_over : ways) {
      tbb::task_group group;
      bool has_run = false;
      bool was_told = false;
      tbb::task_handle handle = group.defer([&] { has_run = true; });
      std::jthread([&] {
        const short_of_memory none(everything);
        try {
          hand_over(arena, group, handle);
        } catch (const std::bad_alloc&) {
          was_told = true;
        }
      }).join();
      group.wait();
      EXPECT_TRUE(was_told);
      EXPECT_FALSE(has_run);
    }
  });
}

TEST(memory_short, no_memory_for_a_worker_is_no_end_of_workers) {
  in_own_process(four_by_two, [] {
    const auto limit = threads(9);
    refused_workers.store(3, sync::relaxed);
    const homing::testing::busy_arena arena(8, 0U);
    arena.expect({2, 2, 2, 2});
    EXPECT_LE(refused_workers.load(sync::relaxed), 0);
  });
}

}  // namespace
