// A library that uses TBB inside, as a program without TBB may load two of: an arena with work, and who works in it.
// Built twice, under two names.
#include <homing/tasks.hpp>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace {

constexpr unsigned domains_max = 8;

/// Counts the workers in an arena by domain.
class census : public tbb::task_scheduler_observer {
 public:
  explicit census(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~census() override { observe(false); }
  void on_scheduler_entry(bool is_worker) override { count(is_worker ? 1 : 0); }
  void on_scheduler_exit(bool is_worker) override { count(is_worker ? -1 : 0); }
  [[nodiscard]] int of(unsigned domain) const { return present_[domain].load(std::memory_order_relaxed); }

 private:
  void count(int step) {
    present_[to_index(homing::current_domain()) % domains_max].fetch_add(step, std::memory_order_relaxed);
  }
  std::array<std::atomic<int>, domains_max> present_{};
};

/// Chains of enqueued tasks, twice as many as threads: always work, and a worker may leave behind each task.
class computation {
 public:
  explicit computation(int threads)
      : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads) + 1),
        arena_(threads, 0),
        workers_(arena_),
        left_(2 * threads) {
    for (int i = 0; i < 2 * threads; ++i) go_on();
  }
  ~computation() {
    over_ = true;
    while (left_ != 0) std::this_thread::yield();
  }
  [[nodiscard]] int workers_of(unsigned domain) const { return workers_.of(domain); }

 private:
  void go_on() {
    arena_.enqueue([this] {
      if (over_) {
        --left_;
        return;
      }
      for (int i = 0; i < 3; ++i) std::this_thread::yield();
      go_on();
    });
  }

  tbb::global_control limit_;
  tbb::task_arena arena_;
  census workers_;
  std::atomic<int> left_;
  std::atomic<bool> over_{false};
};

std::unique_ptr<computation> running;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void library_start(int threads) { running = std::make_unique<computation>(threads); }
[[gnu::visibility("default")]] void library_stop() { running.reset(); }
/// Workers of a domain that compute for this library now.
[[gnu::visibility("default")]] int library_workers(unsigned domain) { return running->workers_of(domain); }
/// Domains that there are; 0 on another libtbb.so.12 than ours.
[[gnu::visibility("default")]] unsigned library_domains() {
  return homing::runtime().is_homing ? homing::domain_count() : 0;
}
}
