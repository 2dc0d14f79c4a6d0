// A scenario of threads that wait for the same groups from different places: deep in a stack, on top of a task, in
// isolation. What each may take differs, and somebody must be called who may.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#include <tbb/task_group.h>

#include "common/scenario.hpp"

namespace stress {
namespace {

constexpr int frame_kib = 16;
constexpr int deep_kib = 5 * 1024;  // of eight megabytes: beyond what stealing is allowed for

template <typename Body>
[[gnu::noinline]] void at_depth(int kib, const Body& body) {
  volatile char frame[frame_kib * 1024];
  frame[0] = 1;
  if (kib > 0) {
    at_depth(kib - frame_kib, body);
  } else {
    body();
  }
  frame[1] = frame[0];
}

template <typename Body>
void somewhere(rng& own, const Body& body) {
  switch (own.below(5)) {
    case 0:
      at_depth(deep_kib, body);
      break;
    case 1: {
      tbb::task_group around;
      around.run_and_wait(body);
      break;
    }
    case 2:
      tbb::this_task_arena::isolate(body);
      break;
    case 3: {
      tbb::task_group around;
      around.run_and_wait([&] { at_depth(deep_kib, body); });
      break;
    }
    default:
      body();
  }
}

struct thrown_item {
  std::size_t item;
};

/// A group whose tasks come from outside, suspend, spawn and throw, and for which several threads wait.
class awaited_group {
 public:
  awaited_group(std::uint64_t seed, std::size_t tasks, resumer& helper)
      : seed_(seed), books_(tasks * children), caught_(tasks), helper_(helper) {
    for (std::size_t i = 0; i < tasks; ++i) {
      handles_.push_back(group_.defer([this, i] { run(i); }));
    }
  }

  /// Gives every task to the arena, which has a place for a worker.
  void send(tbb::task_arena& arena) {
    for (auto& handle : handles_) arena.enqueue(std::move(handle));
    handles_.clear();
  }

  void wait() {
    try {
      static_cast<void>(group_.wait());
    } catch (const thrown_item& thrown) {
      require(caught_[thrown.item].fetch_add(1) == 0, "waits: one exception reached two waiters");
    }
  }

  /// True if every task that was not cancelled has run with its children; a throw cancels what has not begun.
  void check() const {
    require(books_.quiet(), "waits: a task runs although all have waited");
    require(has_thrown_.load() || books_.complete(), "waits: lost tasks");
  }

 private:
  static constexpr std::size_t children = 4;

  void run(std::size_t i) {
    rng own(derive(seed_, i));
    const ledger::entry entry(books_, i * children);
    if (own.one_in(4)) suspend_once(helper_, own.next());
    for (std::size_t k = 1; k < children; ++k) {
      group_.run([this, i, k] { const ledger::entry child(books_, i * children + k); });
    }
    if (own.one_in(40)) {
      has_thrown_ = true;
      throw thrown_item{i};
    }
    note_progress();
  }

  const std::uint64_t seed_;
  ledger books_;
  std::vector<std::atomic<int>> caught_;
  std::atomic<bool> has_thrown_{false};
  resumer& helper_;
  tbb::task_group group_;
  std::vector<tbb::task_handle> handles_;
};

}  // namespace

void mixed_waiters(const round& r) {
  rng random(r.seed);
  resumer helper;
  const int waiters = random.between(1, 8);
  tbb::task_arena arena(waiters + random.between(1, 4), static_cast<unsigned>(waiters));
  for (int g = 0; g < 8; ++g) {
    awaited_group group(derive(r.seed, static_cast<std::uint64_t>(100 + g)),
                        static_cast<std::size_t>(random.between(1, 30)), helper);
    run_threads(waiters + 1, [&](int t) {
      rng own(derive(r.seed, static_cast<std::uint64_t>(1000 * g + t)));
      if (own.one_in(2)) std::this_thread::yield();
      if (t == 0) {
        group.send(arena);
      } else {
        arena.execute([&] { somewhere(own, [&] { group.wait(); }); });
      }
    });
    arena.execute([&] { group.wait(); });
    group.check();
  }
}

}  // namespace stress
