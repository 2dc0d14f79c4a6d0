// Scenarios about the whole process: workers that end and come back, and children.
#include <signal.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include "common/scenario.hpp"

namespace stress {
namespace {

/// A loop in an arena of `threads`; returns false when an item was lost.
bool loop_is_complete(int threads, std::size_t items) {
  ledger books(items);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, items, [&](std::size_t i) {
      const ledger::entry entry(books, i);
      burn(2000);
    });
  });
  return books.complete();
}

constexpr int child_success = 17;
constexpr int child_hung = 18;
constexpr unsigned child_limit_s = 30;

/// The watchdog is the parent's; a child that hangs reports itself.
void report_hung_child(int) {
  print_threads();
  _exit(child_hung);
}

/// In the child: use the library, and end without destructors.
[[noreturn]] void run_child(const round& r, int kind) {
  signal(SIGALRM, report_hung_child);
  alarm(child_limit_s);
  bool good = loop_is_complete(r.threads, 500);
  if (kind == 1) {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    good = tbb::finalize(handle, std::nothrow) && loop_is_complete(r.threads, 500) && good;
  }
  _exit(good ? child_success : 1);
}

}  // namespace

/// Between rounds all workers must be gone, also while enqueued tasks are outstanding.
void finalize_between(const round& r) {
  rng random(r.seed);
  for (int i = 0; i < 3; ++i) {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    require(loop_is_complete(random.between(1, r.threads), 300), "finalize: a loop lost items");
    std::atomic<int> ran{0};
    const int enqueued = random.below(20);
    {
      tbb::task_arena arena(random.between(2, r.threads));
      for (int k = 0; k < enqueued; ++k) {
        arena.enqueue([&ran] {
          std::this_thread::yield();
          ran.fetch_add(1, std::memory_order_relaxed);
        });
      }
    }
    const bool done = tbb::finalize(handle, std::nothrow);
    require(done, "finalize returned false although nothing else used the library");
    require(ran == enqueued, "finalize returned before the enqueued tasks had run");
    note_progress();
  }
}

/// Children are forked while workers are awake, asleep or not yet there.
void fork_children(const round& r) {
  rng random(r.seed);
  if (random.one_in(4)) {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    require(tbb::finalize(handle, std::nothrow), "finalize before fork returned false");
  } else {
    require(loop_is_complete(r.threads, 300), "fork: the parent's loop lost items");
    if (random.one_in(2)) std::this_thread::yield();
  }
  for (int i = 0; i < 3; ++i) {
    const int kind = random.below(2);
    const pid_t child = fork();
    require(child >= 0, "fork failed");
    if (child == 0) run_child(r, kind);
    require(loop_is_complete(r.threads, 100), "fork: the parent's loop lost items");
    int status = 0;
    require(waitpid(child, &status, 0) == child, "waitpid failed");
    note_progress();
    if (WIFSIGNALED(status)) fail("a child ended by signal " + std::to_string(WTERMSIG(status)));
    require(WEXITSTATUS(status) != child_hung, "a child hung; its threads are above");
    require(WEXITSTATUS(status) == child_success, "a child lost items, or could not finalize");
  }
}

}  // namespace stress
