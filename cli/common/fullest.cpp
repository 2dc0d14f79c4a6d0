#include "common/fullest.hpp"

#include <csignal>
#include <stdexcept>
#include <system_error>

namespace homing::cli {

void fullest_look::look(pid_t process, const node_of_cpu& nodes, const std::function<void(const process_look&)>& show) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  look_result now = look_at(process, nodes);
  const auto end = clock::now();
  not_before_ = end + 9 * (end - begin);
  if (!now.seen) {
    if (!best_) error_ = now.error;
    return;
  }
  if (now.seen->threads.size() > threads_.size()) threads_ = now.seen->threads;
  if (show) show(*now.seen);
  if (!best_ || sum(now.seen->pages.total) >= sum(best_->pages.total)) best_ = std::move(now.seen);
}

std::optional<process_look> fullest_look::best() const {
  std::optional<process_look> result = best_;
  if (result) result->threads = threads_;
  return result;
}

void background_look::start(pid_t process) {
  // Signals are for the thread that waits for the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::string problem;
  try {
    thread_ = std::thread([this, process] { run(process); });
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!problem.empty()) throw std::runtime_error("can't start the thread that looks at the program: " + problem);
}

void background_look::run(pid_t process) {
  const node_of_cpu nodes;
  std::unique_lock hold(lock_);
  while (!wake_.wait_for(hold, std::chrono::milliseconds(100), [this] { return stopping_; })) {
    hold.unlock();
    if (fullest_.is_time()) fullest_.look(process, nodes, nullptr);
    hold.lock();
  }
}

std::optional<process_look> background_look::stop() {
  if (!thread_.joinable()) return fullest_.best();
  {
    const std::lock_guard hold(lock_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  return fullest_.best();
}

}  // namespace homing::cli
