// workers [--threads N]: the kernel's view of our threads. Each worker may run on exactly the CPUs of one domain, each
// domain has its share of workers, and tasks with an address run on CPUs of that domain, by getcpu.
#include <oneapi/tbb/global_control.h>
#include <homing/parallel_for.hpp>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>
#include <homing/topology.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace guest;
using homing::domain_index;

namespace {

std::set<int> parse_list(const std::string& text) {
  std::set<int> result;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    long last = first;
    if (end == at) break;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) result.insert(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return result;
}

struct thread_view {
  int id;
  std::string name;
  std::set<int> cpus;
};

/// All threads but the first, as /proc shows them.
std::vector<thread_view> threads() {
  std::vector<thread_view> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    thread_view view{std::atoi(entry.path().filename().c_str()), {}, {}};
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const auto tab = line.find('\t') + 1;
      if (line.starts_with("Name:")) view.name = line.substr(tab);
      if (line.starts_with("Cpus_allowed_list:")) view.cpus = parse_list(line.substr(tab));
    }
    if (view.id != getpid()) result.push_back(view);
  }
  return result;
}

std::set<int> cpus_of(const homing::topology::domain_info& d) {
  std::set<int> result;
  for (const homing::cpu_id cpu : d.cpus) result.insert(homing::to_number(cpu));
  return result;
}

/// By the CPU that the kernel says, not by what libhoming believes.
bool runs_in(domain_index domain) {
  const int cpu = sched_getcpu();
  const auto machine = homing::topology::current();
  const auto& cpus = machine.at(domain).cpus;
  return std::any_of(cpus.begin(), cpus.end(), [&](homing::cpu_id c) { return homing::to_number(c) == cpu; });
}

/// Something that takes a while, so that a task is no flash in the pan.
void work() {
  for (int i = 0; i != 20'000; ++i) __asm__ volatile("");
}

/// All threads at once: each holds its part until the others have one. (A hang is ended by the lab's time limit.)
void call_all_workers(int wanted) {
  std::latch all(wanted);
  tbb::task_arena arena(wanted);
  arena.execute([&] {
    tbb::parallel_for(
        0, wanted, [&](int) { all.arrive_and_wait(); }, tbb::static_partitioner{});
  });
}

void binding(int wanted) {
  const auto machine = homing::topology::current();
  const auto domains = machine.domains();
  call_all_workers(wanted);
  std::vector<int> workers(domains.size());
  for (const thread_view& t : threads()) {
    const auto home = std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return cpus_of(d) == t.cpus; });
    std::string list;
    for (const int cpu : t.cpus) list += std::to_string(cpu) + " ";
    if (check(home != domains.end(), "thread " + t.name + " may use one domain's CPUs", list)) {
      ++workers[to_index(home->index)];
    }
  }
  // In proportion to the CPUs, give or take the application's own thread and rounding.
  std::size_t cpus = 0;
  for (const auto& d : domains) cpus += d.cpus.size();
  for (const auto& d : domains) {
    const double fair = static_cast<double>(wanted) * static_cast<double>(d.cpus.size()) / static_cast<double>(cpus);
    const int has = workers[to_index(d.index)];
    check(has >= static_cast<int>(fair) - 1 && has <= static_cast<int>(fair) + 1,
          "domain " + std::to_string(to_index(d.index)) + " has its share of workers",
          std::to_string(has) + " of " + std::to_string(wanted));
  }
}

/// Tasks with an address that workers took, and not their maker, in whose deque they lie, too: more at home than in
/// any other domain, on average.
void addresses() {
  const auto maker = std::this_thread::get_id();
  std::atomic<int> at_home{0}, elsewhere{0}, total{0};
  for (int round = 0; round != 50; ++round) {
    homing::task_group group;
    for (unsigned i = 0; i != 16 * homing::domain_count(); ++i) {
      group.run(homing::on(i % homing::domain_count()), [&, i] {
        work();
        ++total;
        if (std::this_thread::get_id() == maker) return;
        ++(runs_in(domain_index{i % homing::domain_count()}) ? at_home : elsewhere);
      });
    }
    group.wait();
  }
  check(total == 50 * 16 * static_cast<int>(homing::domain_count()), "each addressed task ran once",
        std::to_string(total));
  // On a busy host few domains have a CPU at a time, and others' workers help: then most may run elsewhere.
  const int others = static_cast<int>(homing::domain_count()) - 1;
  check(at_home * others > elsewhere,
        "addressed tasks that workers took ran on CPUs of their domain rather than of another",
        std::to_string(at_home) + " to " + std::to_string(elsewhere));
}

/// Wherever it was before.
bool of_domain(const cpu_set_t& mask, unsigned domain) {
  const std::set<int> cpus = cpus_of(homing::topology::current().at(domain_index{domain}));
  return CPU_COUNT(&mask) == static_cast<int>(cpus.size()) && std::all_of(cpus.begin(), cpus.end(), [&](int cpu) {
           return CPU_ISSET(static_cast<std::size_t>(cpu), &mask);
         });
}

/// In domains without a worker, under a limit, the caller works alone.
void pinned_sections() {
  for (unsigned d = 0; d != homing::domain_count(); ++d) {
    std::atomic<int> there{0}, total{0};
    homing::pinned(d, [&] {
      cpu_set_t mask;
      check(sched_getaffinity(0, sizeof mask, &mask) == 0 && of_domain(mask, d), "its caller may use those CPUs only");
      tbb::parallel_for(0, 200, [&](int) {
        work();
        ++total;
        there += runs_in(domain_index{d}) ? 1 : 0;
      });
    });
    check(total == 200 && there == 200, "a pinned section runs on CPUs of domain " + std::to_string(d),
          std::to_string(there) + " of " + std::to_string(total));
  }
}

/// With everybody free to help others: a hint, which most tasks follow.
void hints() {
  constexpr int size = 4096;
  const auto blocks = homing::block(size);
  std::atomic<int> there{0}, total{0};
  for (int round = 0; round != 20; ++round) {
    homing::parallel_for(
        tbb::blocked_range<std::size_t>(0, size, 16),
        [&](const tbb::blocked_range<std::size_t>& r) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) work();
          total += static_cast<int>(r.size());
          if (runs_in(blocks.home_of(r.begin()))) there += static_cast<int>(r.size());
        },
        blocks);
  }
  check(total == 20 * size, "each iteration ran once", std::to_string(total));
  check(there > total / 2, "most iterations ran on CPUs of their home",
        std::to_string(there) + " of " + std::to_string(total));
}

}  // namespace

int main(int argc, char** argv) {
  const words given(argc, argv);
  const auto machine = homing::topology::current();
  const int threads = static_cast<int>(given.number("--threads", static_cast<long>(machine.default_concurrency())));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  if (!homing::runtime().is_homing) give_up("this is another libtbb.so.12 than ours");
  const long domains = given.number("--domains", static_cast<long>(machine.domains().size()));
  check(static_cast<long>(machine.domains().size()) == domains && homing::domain_count() == machine.domains().size(),
        "the domains that there should be", machine.describe());
  const long expected = given.number("--concurrency", static_cast<long>(machine.default_concurrency()));
  check(static_cast<long>(machine.default_concurrency()) == expected, "the threads that make sense",
        std::to_string(machine.default_concurrency()));
  binding(threads);
  if (threads >= 2 * static_cast<int>(machine.domains().size())) {  // a worker in each domain
    addresses();
    hints();
  }
  pinned_sections();
  return verdict();
}
