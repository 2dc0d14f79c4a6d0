#include "contender.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <omp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "surroundings.hpp"

namespace programs {

/// Counters of all threads, in pages that a forked process shares.
struct contender::shared_state {
  std::atomic<std::uint64_t> pieces{0};
  std::atomic<bool> stop{false};
};

namespace {

// 256 bytes: in a first-level cache, also in one of the lab's that is divided by 128.
constexpr std::size_t compute_numbers = 32;
constexpr int compute_rounds = 512;
constexpr std::size_t stream_numbers = 1 << 17;  // 1 MiB
constexpr int pieces_a_loop = 8;                 // for each thread, between two looks at the flag
constexpr int threads_max = 1024;

// What one thread works on. A piece takes some microseconds of a real machine.
struct thread_data {
  std::vector<double> numbers;
  std::size_t at = 0;
  void piece(contention::work what) {
    if (what == contention::work::stream) {
      if (numbers.size() != stream_numbers) numbers.assign(stream_numbers, 1.0);
      for (std::size_t i = 0; i < stream_numbers / 16; ++i, at = (at + 1) % stream_numbers) numbers[at] += 1.0;
      return;
    }
    if (numbers.size() < compute_numbers) numbers.assign(compute_numbers, 1.0);
    for (int round = 0; round < compute_rounds; ++round) {
      for (std::size_t i = 0; i < compute_numbers; ++i) numbers[i] = numbers[i] * 0.999 + 0.001;
    }
  }
};
thread_local thread_data mine;

// Rests of a contender that comes and goes.
class pauses {
 public:
  pauses(const contention& what, std::uint64_t seed) : on_(what.what == contention::work::bursts), draw_(seed) {}
  /// After a loop: rests if the burst is over.
  void after_loop() {
    if (!on_ || --left_ > 0) return;
    left_ = static_cast<int>(std::uniform_int_distribution<>(1, 32)(draw_));
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 2000)(draw_)));
  }

 private:
  bool on_;
  std::mt19937_64 draw_;
  int left_ = 1;
};

// The command line was asked whether it can be done.
void keep_to_node(int node) { static_cast<void>(apply(surroundings{.cpu_node = node})); }

// All: as many as the program has; of chosen nodes, as many as these have CPUs, where an arena has no more than the
// program.
int threads_of(const contention& what, int program_threads) {
  if (what.threads != contention::all_threads) return what.threads;
  if (what.domains.empty()) return program_threads;
  const int cpus = count_cpus(what.domains);
  return what.where == contention::place::arena ? std::min(cpus, program_threads) : cpus;
}

// The n-th of so many threads dealt over the chosen nodes.
std::optional<int> node_of(const contention& what, int n) {
  if (what.domains.empty()) return std::nullopt;
  return what.domains[static_cast<std::size_t>(n) % what.domains.size()];
}

}  // namespace

std::optional<contention> contention::parse(std::string_view text, std::string& expected) {
  if (text == "none") return contention{};
  contention found;
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first == text.npos ? first : first + 1);
  expected = "none or WHERE:WHAT:THREADS[@NODE,...]";
  if (second == text.npos) return std::nullopt;
  const std::string_view where = text.substr(0, first);
  const std::string_view what = text.substr(first + 1, second - first - 1);
  expected = "arena, openmp or process before the first \":\"";
  if (where != "arena" && where != "openmp" && where != "process") return std::nullopt;
  found.where = where == "arena" ? place::arena : where == "openmp" ? place::openmp : place::process;
  expected = "compute, stream or bursts after the first \":\"";
  if (what != "compute" && what != "stream" && what != "bursts") return std::nullopt;
  found.what = what == "compute" ? work::compute : what == "stream" ? work::stream : work::bursts;
  const auto number = [&text](std::size_t& at, int most) -> std::optional<int> {
    int value = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (read.ec != std::errc{} || value < 0 || value > most) return std::nullopt;
    at = static_cast<std::size_t>(read.ptr - text.data());
    return value;
  };
  std::size_t at = second + 1;
  expected = "all or a number in 0.." + std::to_string(threads_max) + " after the second \":\"";
  if (text.substr(at).starts_with("all")) {
    found.threads = all_threads;
    at += 3;
  } else if (const auto threads = number(at, threads_max)) {
    found.threads = *threads;
  } else {
    return std::nullopt;
  }
  expected = "nothing behind the threads but @NODE,..., Linux's numbers of nodes";
  for (char before = '@'; at < text.size(); before = ',') {
    if (text[at] != before) return std::nullopt;
    const auto node = number(++at, threads_max);
    if (!node) return std::nullopt;
    found.domains.push_back(*node);
  }
  return found;
}

contender::contender(const contention& what, int program_threads, std::uint64_t seed) {
  if (what.where == contention::place::none) return;
  threads_in_all_ = threads_of(what, program_threads);
  if (threads_in_all_ == 0) return;
  void* const pages = ::mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "the contender's counters: mmap");
  state_ = new (pages) shared_state;
  switch (what.where) {
    case contention::place::none:
      break;
    case contention::place::arena:
      begin_threads_ = [=, this] { begin_arenas(what, threads_in_all_, seed); };
      break;
    case contention::place::openmp:
      begin_threads_ = [=, this] { begin_openmp(what, threads_in_all_, seed); };
      break;
    case contention::place::process:
      make_process(what, threads_in_all_, seed);
      break;
  }
}

contender::~contender() {
  if (state_ == nullptr) return;
  static_cast<void>(stop());
  state_->~shared_state();
  ::munmap(state_, sizeof(shared_state));
}

void contender::begin() {
  if (state_ == nullptr) return;
  if (begin_threads_) std::exchange(begin_threads_, nullptr)();
  if (begins_ >= 0 && ::eventfd_write(begins_, 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "the contender: eventfd");
  }
  while (state_->pieces.load() == 0) {
    if (has_ended()) throw std::runtime_error("the contender: its process ended at once");
    ::sched_yield();
  }
}

void contender::end() {
  if (state_ == nullptr || stop()) return;
  throw std::runtime_error("the contender: its process ended before the program did; nothing contended with the rest");
}

bool contender::has_ended() noexcept {
  if (process_ == 0 || ::waitpid(process_, nullptr, WNOHANG) != process_) return false;
  process_ = 0;
  return true;
}

bool contender::stop() noexcept {
  state_->stop.store(true);
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  if (begins_ >= 0) ::close(std::exchange(begins_, -1));
  if (has_ended()) return false;
  if (process_ != 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }
  return true;
}

std::uint64_t contender::pieces() const noexcept { return state_ == nullptr ? 0 : state_->pieces.load(); }

// An arena for each chosen node, or one; each has an application thread of its own, which is one of its threads.
void contender::begin_arenas(const contention& what, int threads, std::uint64_t seed) {
  const int arenas = what.domains.empty() ? 1 : std::min<int>(threads, static_cast<int>(what.domains.size()));
  for (int a = 0; a < arenas; ++a) {
    const int share = threads / arenas + (a < threads % arenas ? 1 : 0);
    threads_.emplace_back([this, what, share, seed, node = node_of(what, a)] {
      tbb::task_arena::constraints limits;
      limits.max_concurrency = share;
      if (node) limits.numa_id = *node;
      tbb::task_arena arena(limits, 1);
      pauses rests(what, seed);
      while (!state_->stop.load()) {
        arena.execute([&] {
          tbb::parallel_for(
              0, share * pieces_a_loop,
              [&](int) {
                mine.piece(what.what);
                state_->pieces.fetch_add(1);
              },
              tbb::simple_partitioner{});
        });
        rests.after_loop();
      }
    });
  }
}

void contender::begin_openmp(const contention& what, int threads, std::uint64_t seed) {
  threads_.emplace_back([this, what, threads, seed] {
    pauses rests(what, seed);
    while (!state_->stop.load()) {
#pragma omp parallel num_threads(threads)
      {
        thread_local bool bound = false;
        if (const auto node = node_of(what, omp_get_thread_num()); node && !bound) keep_to_node(*node);
        bound = true;
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < threads * pieces_a_loop; ++i) {
          mine.piece(what.what);
          state_->pieces.fetch_add(1);
        }
      }
      rests.after_loop();
    }
  });
}

void contender::make_process(const contention& what, int threads, std::uint64_t seed) {
  begins_ = ::eventfd(0, EFD_CLOEXEC);
  if (begins_ < 0) throw std::system_error(errno, std::generic_category(), "the contender: eventfd");
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    const int error = errno;
    ::close(begins_);
    throw std::system_error(error, std::generic_category(), "the contender: fork");
  }
  if (process_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::eventfd_t begun = 0;
  if (::eventfd_read(begins_, &begun) != 0) ::_exit(1);
  std::atomic<bool> all_there{false};
  const auto work = [&](int n) {
    all_there.wait(false);
    if (const auto node = node_of(what, n)) keep_to_node(*node);
    pauses rests(what, seed + static_cast<std::uint64_t>(n));
    for (;;) {
      for (int i = 0; i < pieces_a_loop; ++i) {
        mine.piece(what.what);
        state_->pieces.fetch_add(1);
      }
      rests.after_loop();
    }
  };
  std::vector<std::thread> others;
  try {
    for (int n = 1; n < threads; ++n) others.emplace_back(work, n);
  } catch (const std::system_error& e) {
    std::fprintf(stderr, "the contender: thread %zu of %d: %s; fewer threads would do\n", others.size() + 2, threads,
                 e.what());
    ::_exit(1);
  }
  all_there = true;
  all_there.notify_all();
  work(0);
}

}  // namespace programs
