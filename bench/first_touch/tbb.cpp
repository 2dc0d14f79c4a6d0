// What a first loop leaves behind: in a new process it touches memory, and affinity_partitioner remembers which thread
// ran what. Sweeps over that memory follow; they take as long as their threads are far from it. Half as many threads as
// CPUs, or all, as a program's own thread count says; bound by the program to CPUs, as codes with an observer do, or
// not bound.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "../common/harness.hpp"
#include "../common/young_process.hpp"

namespace {

constexpr std::size_t rows_a_thread = 150, values_a_row = 6 * 1024, line = 8;  // 48 KiB a row
constexpr int sweeps = 4;
using range = tbb::blocked_range<std::size_t>;

/// Binds who enters to one of this process's CPUs, by its slot, evenly over all of them.
class binding_observer final : public tbb::task_scheduler_observer {
 public:
  binding_observer(tbb::task_arena& arena, int threads) : task_scheduler_observer(arena), threads_(threads) {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mine)) cpus_.push_back(cpu);
    }
    observe(true);
  }
  ~binding_observer() override { observe(false); }
  void on_scheduler_entry(bool) override {
    const auto slot = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
    const std::size_t place = slot * cpus_.size() / static_cast<std::size_t>(threads_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpus_[place % cpus_.size()]), &one);
    sched_setaffinity(0, sizeof one, &one);
  }

 private:
  int threads_;
  std::vector<int> cpus_;
};

/// Pages that nobody has touched yet.
class rows {
 public:
  explicit rows(std::size_t count) : bytes_(count * values_a_row * sizeof(std::uint64_t)) {
    void* const got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    values_ = got == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(got);
  }
  ~rows() {
    if (values_ != nullptr) munmap(values_, bytes_);
  }
  rows(const rows&) = delete;
  rows& operator=(const rows&) = delete;

  [[nodiscard]] bool ok() const noexcept { return values_ != nullptr; }
  void touch(std::size_t row) noexcept {
    for (std::size_t i = 0; i != values_a_row; ++i) values_[row * values_a_row + i] = 1;
  }
  [[nodiscard]] std::uint64_t sum(std::size_t row) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i != values_a_row; i += line) total += values_[row * values_a_row + i];
    return total;
  }

 private:
  std::size_t bytes_;
  std::uint64_t* values_;
};

/// Of all sweeps; the touching is not counted.
bench::times sweep(int threads) {
  const std::size_t count = rows_a_thread * static_cast<std::size_t>(threads);
  rows memory(count);
  if (!memory.ok()) return {-1, -1};
  tbb::affinity_partitioner partitioner;
  const auto loop = [&](auto&& body) {
    tbb::parallel_for(
        range(0, count, 1),
        [&](const range& part) {
          for (std::size_t row = part.begin(); row != part.end(); ++row) body(row);
        },
        partitioner);
  };
  loop([&](std::size_t row) { memory.touch(row); });
  std::atomic<std::uint64_t> total{0};
  bench::stopwatch watch;
  watch.start();
  for (int i = 0; i != sweeps; ++i) {
    loop([&](std::size_t row) { total.fetch_add(memory.sum(row), std::memory_order_relaxed); });
  }
  watch.stop();
  const bool right = total.load() == sweeps * count * (values_a_row / line);
  return right ? bench::times{watch.wall_total_ns(), watch.cpu_total_ns()} : bench::times{-1, -1};
}

bench::times young(const char* what, int threads) {
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  if (std::strcmp(what, "bound") != 0) return arena.execute([&] { return sweep(threads); });
  const binding_observer binding(arena, threads);
  return arena.execute([&] { return sweep(threads); });
}

void measure(bench::session& session, const char* program, const char* name) {
  session.measure(name, [&](std::uint64_t iterations, bench::stopwatch& watch) {
    for (std::uint64_t i = 0; i != iterations; ++i) {
      const bench::times taken = bench::in_young_process(program, name, session.threads());
      session.expect(taken.wall_ns >= 0, "each row is summed up once a sweep, in a process of its own");
      watch.add_wall(taken.wall_ns);
      watch.add_cpu(taken.cpu_ns);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (bench::is_young(argc, argv)) return bench::be_young(argv, young);
  bench::session session(argc, argv, "first_touch");
  measure(session, argv[0], "unbound");
  measure(session, argv[0], "bound");
  return session.end();
}
