// machine_changes [--rounds N]: CPUs go offline and come back under a program that runs one loop after another: single
// CPUs, whole nodes, all nodes but the first. Then a loop must get as many threads as CPUs are left, each bound to what
// one domain has left; tasks for a domain without CPUs must run; and with the CPUs their workers must come back. Times
// are told, not judged: they are the host's. Needs root and our libtbb.so.12.
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <homing/tasks.hpp>
#include <homing/topology.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace guest;
using cpus = std::set<int>;

namespace {

constexpr auto patience = std::chrono::seconds(120);  // of a host that is busy with other things

/// What the kernel lets the calling thread use: CPUs that are offline are none of it.
cpus allowed() {
  cpu_set_t mask;
  cpus result;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return result;
  for (int cpu = 0; cpu != CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) result.insert(cpu);
  }
  return result;
}

std::string text(const cpus& list) {
  std::string result;
  for (const int cpu : list) result += (result.empty() ? "" : ",") + std::to_string(cpu);
  return result.empty() ? "none" : result;
}

bool set_online(int cpu, bool online) {
  std::ofstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online");
  file << (online ? '1' : '0') << std::flush;
  return static_cast<bool>(file);
}

/// One loop after another, until it is told to end.
class program {
 public:
  program() : runs_([this] { run(); }) {}
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    over_ = true;
    runs_.join();
  }

  /// Between two loops, when all threads are to be had.
  template <class Function>
  void between(const Function& f) {
    paused_ = true;  // the mutex alone would go to the loops again and again
    {
      const std::scoped_lock hold(turn_);
      f();
    }
    paused_ = false;
    paused_.notify_one();
  }

  [[nodiscard]] long wrong() const { return wrong_; }
  [[nodiscard]] long loops() const { return count_; }

 private:
  void run() {
    while (!over_) {
      paused_.wait(true);
      const std::scoped_lock mine(turn_);
      std::atomic<int> ran{0};
      tbb::parallel_for(
          0, chunks,
          [&](int) {
            for (int i = 0; i != 10'000; ++i) __asm__ volatile("");
            ++ran;
          },
          tbb::simple_partitioner{});
      if (ran != chunks) ++wrong_;
      ++count_;
    }
  }

  static constexpr int chunks = 128;
  std::atomic<bool> over_{false};
  std::atomic<bool> paused_{false};
  std::atomic<long> wrong_{0};
  std::atomic<long> count_{0};
  std::mutex turn_;
  std::thread runs_;
};

std::vector<cpus> domains() {
  std::vector<cpus> result;
  const auto machine = homing::topology::current();
  for (const auto& d : machine.domains()) {
    cpus& mine = result.emplace_back();
    for (const homing::cpu_id cpu : d.cpus) mine.insert(homing::to_number(cpu));
  }
  return result;
}

/// Tasks for each domain, whether it has CPUs or not: from a group, into the default arena's queue, and to an arena of
/// that node.
void tasks_for_all(const std::string& when) {
  std::atomic<int> grouped{0};
  const auto count = homing::domain_count();
  homing::task_group group;
  for (unsigned i = 0; i != 20 * count; ++i) group.run(homing::on(i % count), [&] { ++grouped; });
  group.wait();
  std::latch enqueued(2 * static_cast<std::ptrdiff_t>(count));
  std::vector<tbb::task_arena> arenas;
  arenas.reserve(count);
  const auto nodes = tbb::info::numa_nodes();
  for (unsigned d = 0; d != count; ++d) {
    homing::enqueue(homing::on(d), [&] { enqueued.count_down(); });
    arenas.emplace_back(tbb::task_arena::constraints(nodes[d % nodes.size()]));
    arenas.back().enqueue([&] { enqueued.count_down(); });
  }
  enqueued.wait();  // a hang is ended by the lab's time limit
  check(grouped == static_cast<int>(20 * count), when + ": tasks for each domain ran, with and without a wait");
}

/// Who is there, each with what the kernel lets it use; the application's own thread is left out.
using roll = std::map<pid_t, cpus>;

/// A loop of as many parts as threads, each of which is held until all have come or some time is over: fewer may come.
roll roll_call(int wanted) {
  roll result;
  std::mutex one_at_a_time;
  std::atomic<int> here{0};
  const pid_t self = gettid();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  tbb::task_arena arena(wanted);
  arena.execute([&] {
    tbb::parallel_for(
        0, wanted,
        [&](int) {
          ++here;
          if (gettid() != self) {
            cpus now = allowed();
            const std::scoped_lock hold(one_at_a_time);
            result[gettid()] = std::move(now);
          }
          while (here < wanted && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        },
        tbb::static_partitioner{});
  });
  return result;
}

std::string text(const roll& seen) {
  std::string result = std::to_string(seen.size()) + " workers:";
  for (const auto& [id, mine] : seen) result += " [" + text(mine) + "]";
  return result;
}

/// Each who came may use just what one domain has left, and somebody came of each that has CPUs. (On a busy host not
/// all may come in time.)
bool as_it_should_be(const roll& seen, const std::vector<cpus>& left) {
  std::size_t online = 0;
  std::size_t right = 0;
  for (const cpus& domain : left) {
    std::size_t workers = 0;
    for (const auto& [id, mine] : seen) workers += !domain.empty() && mine == domain ? 1 : 0;
    if (!domain.empty() && workers == 0) return false;
    online += domain.size();
    right += workers;
  }
  return seen.size() < online && right == seen.size();
}

/// Calls until all is as it should be; says how long that took.
void follows(program& loops, const std::vector<cpus>& left, const std::string& what) {
  int online = 0;
  for (const cpus& domain : left) online += static_cast<int>(domain.size());
  const auto began = std::chrono::steady_clock::now();
  const long before = loops.loops();
  const auto ms = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  };
  roll seen;
  int calls = 0;
  bool right = false;
  do {
    loops.between([&] { seen = roll_call(online); });
    right = as_it_should_be(seen, left);
    ++calls;
  } while (!right && std::chrono::steady_clock::now() - began < patience);
  check(right, what + ": workers follow", text(seen));
  std::printf("time: %s: %.0f ms, %d calls, %ld loops between\n", what.c_str(), ms(), calls, loops.loops() - before);
}

bool plug(const cpus& which, bool online) {
  bool accepted = true;
  for (const int cpu : which) accepted = set_online(cpu, online) && accepted;
  return accepted;
}

void change(program& loops, const std::vector<cpus>& whole, const cpus& gone) {
  std::vector<cpus> left = whole;
  for (cpus& domain : left) {
    for (const int cpu : gone) domain.erase(cpu);
  }
  const std::string what = "CPUs " + text(gone);
  check(plug(gone, false), what + " go");
  follows(loops, left, what + " off");
  tasks_for_all(what + " off");
  check(plug(gone, true), what + " come");
  follows(loops, whole, what + " back");
  tasks_for_all(what + " back");
}

}  // namespace

int main(int argc, char** argv) {
  const words given(argc, argv);
  if (!homing::runtime().is_homing) give_up("this is another libtbb.so.12 than ours");
  const std::vector<cpus> whole = domains();
  if (whole.size() < 3) give_up("needs three domains");
  cpus all_but_first;
  for (std::size_t d = 1; d != whole.size(); ++d) all_but_first.insert(whole[d].begin(), whole[d].end());
  {
    program loops;
    follows(loops, whole, "at the start");
    for (long round = 0; round != given.number("--rounds", 1); ++round) {
      change(loops, whole, {*whole[1].begin()});
      change(loops, whole, whole[1]);
      change(loops, whole, all_but_first);
    }
    check(loops.wrong() == 0, "each loop ran each of its parts once");
  }
  return verdict();
}
