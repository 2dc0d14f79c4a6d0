// [OP1] [OP2] [OP4] A thread that gives an object back may stop between any two instructions: its owner goes on without
// it, a fork's child does, and nothing is lost. Method: the giver is stepped by the CPU's trap flag to each of them.
#include <gtest/gtest.h>

#include "memory/small_object_pool.hpp"

#if !defined(__x86_64__)
TEST(object_pool_giver, stops_anywhere) { GTEST_SKIP() << "the trap flag is x86-64's"; }
#elif defined(__SANITIZE_THREAD__)
TEST(object_pool_giver, stops_anywhere) { GTEST_SKIP() << "ThreadSanitizer puts signals off"; }
#else

#include <sched.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>

namespace {

using homing::memory::object_pool;

constexpr greg_t trap_flag = 0x100;
constexpr std::size_t bytes = 64;

/// What the handler and the test tell each other. One giver at a time.
std::atomic<const std::uintptr_t*> link = nullptr;  ///< the first word of the object that is given back
std::atomic<int> steps_left = 0;                    ///< with the mark in that word
std::atomic<bool> stepping = false;
std::atomic<bool> stopped = false;
std::atomic<bool> may_go_on = false;

extern "C" void on_step(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const bool marked = *reinterpret_cast<const volatile std::uintptr_t*>(link.load()) % 2 != 0;
  if (marked && --steps_left == 0) {
    stopped = true;
    while (!may_go_on) {
      static_cast<void>(sched_yield());
    }
    stepping = false;
  }
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = stepping ? flags | trap_flag : flags & ~trap_flag;
}

/// Gives `object` back and stops before the `step`-th instruction that finds the mark in it. False if it never does.
class giver {
 public:
  giver(object_pool& pool, void* object, int step) {
    *static_cast<std::uintptr_t*>(object) = 0;
    link = static_cast<const std::uintptr_t*>(object);
    steps_left = step;
    stopped = may_go_on = false;
    stepping = true;
    ended_ = false;
    thread_ = std::thread([this, &pool, object] {
      static_cast<void>(std::raise(SIGTRAP));  // the handler sets the flag
      pool.deallocate_remote(object, bytes);
      stepping = false;
      ended_ = true;
    });
    while (!stopped && !ended_) {
      std::this_thread::yield();
    }
  }
  ~giver() {
    may_go_on = true;
    thread_.join();
  }
  giver(const giver&) = delete;
  giver& operator=(const giver&) = delete;
  [[nodiscard]] bool has_stopped() const { return stopped; }

 private:
  std::atomic<bool> ended_;
  std::thread thread_;
};

/// The exit status of a child in which three more objects are all different, and `object` is one of them if it is due.
int in_a_child(object_pool& pool, const void* object, bool is_due) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::array<void*, 3> more{};
    for (void*& one : more) {
      one = pool.allocate(bytes);
    }
    const bool distinct = more[0] != more[1] && more[1] != more[2] && more[0] != more[2];
    const bool there = std::find(more.begin(), more.end(), object) != more.end();
    ::_exit(distinct && there == is_due ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(object_pool_giver, stops_anywhere) {
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  object_pool& pool = object_pool::acquire(120);
  int between = 0;  // how often the object was on the stack, and what lies below it unknown
  for (int step = 1; step < 1000; ++step) {
    SCOPED_TRACE(step);
    void* const below = pool.allocate(bytes);
    void* const object = pool.allocate(bytes);
    std::array<void*, 2> meanwhile{};
    {
      pool.deallocate_remote(below, bytes);
      const giver other(pool, object, step);
      if (!other.has_stopped()) {
        break;
      }
      for (void*& one : meanwhile) {
        one = pool.allocate(bytes);
        EXPECT_NE(one, object) << "it has not been given back yet";
      }
      EXPECT_NE(meanwhile[0], meanwhile[1]);
      const bool on_stack = meanwhile[0] != below;
      between += on_stack ? 1 : 0;
      EXPECT_EQ(in_a_child(pool, object, on_stack), 0);
    }
    EXPECT_EQ(pool.allocate(bytes), object);
    if (meanwhile[0] != below) {
      EXPECT_EQ(pool.allocate(bytes), below) << "what was below the object is lost";
    }
  }
  EXPECT_GE(between, 1) << "the giver has two steps, and was stopped between them";
  EXPECT_EQ(sigaction(SIGTRAP, &before, nullptr), 0);
  object_pool::release(pool);
}

}  // namespace
#endif
