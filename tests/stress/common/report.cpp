// Failures and hangs: one report with the seed, every thread's state, then abort.
#include "report.hpp"

#include <dirent.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace stress {
namespace {

constexpr int progress_slots = 64;

// Spread over cache lines, so that counting does not serialise what it watches.
struct alignas(64) progress_slot {
  std::atomic<std::uint64_t> count{0};
};

progress_slot progress[progress_slots];
std::atomic<unsigned> next_slot{0};

std::atomic<const char*> round_name{"start"};
std::atomic<std::uint64_t> round_seed{0};
std::atomic<int> round_threads{0};
std::atomic<bool> reporting{false};

std::string read_line(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return "?";
  char text[256] = "";
  if (std::fgets(text, sizeof text, file) == nullptr) text[0] = '\0';
  std::fclose(file);
  text[std::strcspn(text, "\n")] = '\0';
  return text;
}

/// The one-letter state from /proc/self/task/TID/stat: it follows the name's closing parenthesis.
char thread_state(const std::string& folder) {
  const std::string stat = read_line(folder + "/stat");
  const std::size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() ? stat[end + 2] : '?';
}

void print_backtraces() {
  const std::string pid = std::to_string(getpid());
  const char* arguments[] = {
      "gdb", "-batch", "-nx", "-p", pid.c_str(), "-ex", "set width 0", "-ex", "thread apply all backtrace 80", nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gdb", &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::fprintf(stderr, "(no backtraces: gdb: %s)\n", std::strerror(error));
    return;
  }
  int status = 0;
  waitpid(child, &status, 0);
}

}  // namespace

void note_progress() noexcept {
  thread_local const unsigned slot = next_slot.fetch_add(1, std::memory_order_relaxed) % progress_slots;
  progress[slot].count.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t progress_count() noexcept {
  std::uint64_t sum = 0;
  for (const progress_slot& slot : progress) sum += slot.count.load(std::memory_order_relaxed);
  return sum;
}

void set_current_round(const char* name, std::uint64_t seed, int threads) noexcept {
  round_name = name;
  round_seed = seed;
  round_threads = threads;
  note_progress();
}

void print_threads() noexcept {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks != nullptr) {
    while (const dirent* entry = readdir(tasks)) {
      if (entry->d_name[0] == '.') continue;
      const std::string folder = std::string("/proc/self/task/") + entry->d_name;
      std::fprintf(stderr, "thread %s  %s  state %c  wchan %s\n", entry->d_name, read_line(folder + "/comm").c_str(),
                   thread_state(folder), read_line(folder + "/wchan").c_str());
    }
    closedir(tasks);
  }
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  print_backtraces();
}

void fail(const std::string& what) noexcept {
  if (reporting.exchange(true)) {
    // Another thread reports; wait for its abort, so that the report shows this one where it was.
    for (;;) pause();
  }
  std::fprintf(stderr,
               "\nstress: FAILED: %s\n"
               "stress: replay with: --scenario %s --seed 0x%llx --threads %d\n",
               what.c_str(), round_name.load(), static_cast<unsigned long long>(round_seed.load()),
               round_threads.load());
  print_threads();
  std::fflush(stderr);
  std::abort();
}

watchdog::watchdog(int limit_s) : limit_s_(limit_s), thread_([this] { watch(); }) {}

watchdog::~watchdog() {
  {
    const std::lock_guard<std::mutex> hold(lock_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void watchdog::watch() {
  pthread_setname_np(pthread_self(), "watchdog");
  using clock = std::chrono::steady_clock;
  std::uint64_t last_count = progress_count();
  clock::time_point last_change = clock::now();
  std::unique_lock<std::mutex> hold(lock_);
  while (!stopped_.wait_for(hold, std::chrono::milliseconds(100), [this] { return stop_; })) {
    const std::uint64_t count = progress_count();
    if (count != last_count) {
      last_count = count;
      last_change = clock::now();
    } else if (clock::now() - last_change > std::chrono::seconds(limit_s_)) {
      fail("no progress for " + std::to_string(limit_s_) + " s");
    }
  }
}

}  // namespace stress
