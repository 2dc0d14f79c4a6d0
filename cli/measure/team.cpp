#include "measure/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include "platform/cpu_set.hpp"

namespace homing::measure {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

team::team(const std::vector<cpu_id>& cpus) : busy_(cpus.size()), times_(cpus.size()) {
  members_.reserve(cpus.size());
  try {
    for (std::size_t i = 0; i < cpus.size(); ++i) members_.emplace_back([this, i, cpu = cpus[i]] { live(i, cpu); });
  } catch (const std::system_error& error) {
    finish();
    throw std::runtime_error(fmt::format("can't start thread {} of {}, for CPU {}: {}", members_.size() + 1,
                                         cpus.size(), to_number(cpus[members_.size()]), error.what()));
  } catch (...) {
    finish();
    throw;
  }
  std::unique_lock hold(lock_);
  done_.wait(hold, [this] { return busy_ == 0; });  // all are bound
}

team::~team() { finish(); }

void team::finish() {
  {
    const std::lock_guard hold(lock_);
    ended_ = true;
  }
  called_.notify_all();
  for (std::thread& member : members_) member.join();
}

double team::run(const work& w) {
  // relaxed: the members see it through lock_.
  ready_.store(0, sync::relaxed);
  std::unique_lock hold(lock_);
  work_ = &w;
  busy_ = members_.size();
  ++round_;
  called_.notify_all();
  done_.wait(hold, [this] { return busy_ == 0; });
  double begin = times_.front().begin_s;
  double end = times_.front().end_s;
  for (const times& t : times_) {
    begin = std::min(begin, t.begin_s);
    end = std::max(end, t.end_s);
  }
  return end - begin;
}

void team::live(std::size_t place, cpu_id cpu) {
  const bool bound = platform::set_affinity(0, {cpu}).ok();
  std::unique_lock hold(lock_);
  if (!bound) ++unbound_;
  for (unsigned long seen = 0;;) {
    if (--busy_ == 0) done_.notify_one();
    called_.wait(hold, [&] { return ended_ || round_ != seen; });
    if (ended_) return;
    seen = round_;
    const work& w = *work_;
    hold.unlock();
    // Sleepers wake up at different times: the start line. With fewer CPUs than members, the others need ours.
    // relaxed: it orders nothing but the start; what the members share passes through lock_.
    ready_.fetch_add(1, sync::relaxed);
    while (ready_.load(sync::relaxed) < members_.size()) std::this_thread::yield();
    times_[place].begin_s = now_s();
    w(place);
    times_[place].end_s = now_s();
    hold.lock();
  }
}

}  // namespace homing::measure
