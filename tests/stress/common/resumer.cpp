// Resumes suspended tasks singly and in bunches, newest or oldest first.
#include "resumer.hpp"

#include <pthread.h>
#include <tbb/task_group.h>

#include <algorithm>

#include "report.hpp"

namespace stress {

resumer::resumer() : thread_([this] { run(); }) {}

resumer::~resumer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void resumer::post(tbb::task::suspend_point point, std::uint64_t seed) {
  // Notified under the lock: the resumed task may otherwise end the round, and this object with it,
  // between the unlock and the notification.
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(point);
  seed_ = mix(seed_ ^ seed);
  changed_.notify_one();
}

void resumer::run() {
  pthread_setname_np(pthread_self(), "resumer");
  std::vector<tbb::task::suspend_point> batch;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      rng random(seed_++);
      if (random.one_in(2)) std::reverse(waiting_.begin(), waiting_.end());
      const std::size_t take = random.one_in(3) ? 1 : waiting_.size();
      batch.assign(waiting_.end() - static_cast<std::ptrdiff_t>(take), waiting_.end());
      waiting_.resize(waiting_.size() - take);
    }
    for (tbb::task::suspend_point point : batch) {
      note_progress();
      tbb::task::resume(point);
    }
  }
}

void suspend_once(resumer& helper, std::uint64_t seed) {
  rng random(seed);
  switch (random.below(5)) {
    case 0:
      tbb::task::suspend([](tbb::task::suspend_point point) { tbb::task::resume(point); });
      break;
    case 1:
      tbb::task::suspend([&](tbb::task::suspend_point point) {
        helper.post(point, seed);
        std::this_thread::yield();
      });
      break;
    case 2:  // resumed while its stack runs and waits, perhaps on another thread
      tbb::task::suspend([&](tbb::task::suspend_point point) {
        helper.post(point, seed);
        tbb::task_group inside;
        inside.run([] { tbb::task::suspend([](tbb::task::suspend_point own) { tbb::task::resume(own); }); });
        inside.run_and_wait([] { std::this_thread::yield(); });
      });
      break;
    default:
      tbb::task::suspend([&](tbb::task::suspend_point point) { helper.post(point, seed); });
      break;
  }
}

}  // namespace stress
