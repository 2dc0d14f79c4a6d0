// workers [--threads N]: the kernel's view of our threads. Each worker may run on exactly the CPUs of one domain, each
// domain has its share of workers, and tasks with an address run on CPUs of that domain, by getcpu. Workers are held
// until each has work in its domain, and keep it until all have begun: so chance plays no part, and 99% is the bar.
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
#include <memory>
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

/// Runs `f` in a worker, in an arena of all workers and nobody else: all are bound to their domain.
template <class F>
void in_worker(int workers, F&& f) {
  tbb::task_arena arena(workers, 0);
  const auto over = std::make_shared<std::latch>(1);
  arena.enqueue([&f, over] {
    f();
    over->count_down();
  });
  over->wait();
}

/// All workers but the calling one, held until go(); then each domain's first, and its others with deal(domain). So
/// nobody looks for work before there is some for him.
class held_workers {
 public:
  explicit held_workers(int workers) : all_(workers - 1), domains_(homing::domain_count()) {
    for (int i = 1; i != workers; ++i) {
      tbb::this_task_arena::enqueue([this] {
        domain_gate& here = domains_[to_index(homing::current_domain())];
        ++here.workers;
        all_.count_down();
        go_.wait(false);
        if (here.has_first.test_and_set()) here.is_dealt.wait(false);
      });
    }
    all_.wait();
    for (const domain_gate& d : domains_) counts_.push_back(d.workers);
  }
  /// Of each domain.
  [[nodiscard]] const std::vector<int>& counts() const { return counts_; }
  void go() { open(go_); }
  void deal(std::size_t domain) { open(domains_[domain].is_dealt); }

 private:
  struct domain_gate {
    std::atomic<int> workers{0};
    std::atomic_flag has_first;
    std::atomic_flag is_dealt;
  };
  static void open(std::atomic_flag& gate) {
    gate.test_and_set();
    gate.notify_all();
  }

  std::latch all_;
  std::vector<int> counts_;
  std::atomic_flag go_;
  std::vector<domain_gate> domains_;
};

/// By who runs them.
struct tally {
  std::atomic<int> all{0}, at_home{0};
  void note(domain_index home, int count = 1) {
    all += count;
    if (runs_in(home)) at_home += count;
  }
  void judge(int expected, const std::string& what) const {
    check(all == expected, "each of the " + what + " ran once", std::to_string(all));
    check(at_home * 100 >= all * 99, what + " ran on CPUs of their home",
          std::to_string(at_home) + " of " + std::to_string(all));
  }
};

/// Some tasks for each worker but the maker. Who has one of his domain's last waits for all to begin: so nobody is
/// ever without work of his own.
int round_of_addresses(int workers, tally& seen) {
  constexpr int a_worker = 4;
  held_workers held(workers);
  std::latch last(workers);
  std::vector<std::atomic<int>> begun(homing::domain_count());
  homing::task_group group;
  for (unsigned d = 0; d != homing::domain_count(); ++d) {
    const int here = held.counts()[d];
    for (int i = 0; i != a_worker * here; ++i) {
      group.run(homing::on(d), [&, d, here] {
        const bool is_last = ++begun[d] > (a_worker - 1) * here;
        work();
        seen.note(domain_index{d});
        if (is_last) last.arrive_and_wait();
      });
    }
    held.deal(d);
  }
  held.go();
  last.arrive_and_wait();  // the maker would take back what lies in its deque
  group.wait();
  return a_worker * (workers - 1);
}

void addresses(int workers) {
  tally seen;
  int sent = 0;
  in_worker(workers, [&] {
    for (int round = 0; round != 50; ++round) sent += round_of_addresses(workers, seen);
  });
  seen.judge(sent, "addressed tasks");
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

/// A loop with a part for each worker, the caller among them; each waits for all others. A domain's part is dealt to
/// its workers by the one that comes first, before it begins its own.
int round_of_hints(int workers, tally& seen) {
  constexpr std::size_t grain = 16;
  held_workers held(workers);
  std::vector<double> shares(held.counts().begin(), held.counts().end());
  ++shares[to_index(homing::current_domain())];
  const auto size = grain * static_cast<std::size_t>(workers);
  const auto blocks = homing::block(size, homing::domain_set::all(), homing::weights(shares), grain);
  std::latch all(workers);
  const auto caller = std::this_thread::get_id();
  homing::parallel_for(
      tbb::blocked_range<std::size_t>(0, size, grain),
      [&](const tbb::blocked_range<std::size_t>& r) {
        const domain_index home = blocks.home_of(r.begin());
        held.deal(to_index(home));
        if (std::this_thread::get_id() == caller) held.go();
        for (std::size_t i = r.begin(); i != r.end(); ++i) work();
        seen.note(home, static_cast<int>(r.size()));
        all.arrive_and_wait();
      },
      blocks);
  return static_cast<int>(size);
}

void hints(int workers) {
  tally seen;
  int size = 0;
  in_worker(workers, [&] {
    for (int round = 0; round != 20; ++round) size += round_of_hints(workers, seen);
  });
  seen.judge(size, "iterations");
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
    addresses(threads - 1);
    hints(threads - 1);
  }
  pinned_sections();
  return verdict();
}
