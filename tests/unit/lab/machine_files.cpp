// The lab's machine files are machines that the model takes, and what saturates the real ones saturates them, though
// most have fewer cores. Method: each file as the runner hands it over (lab/machines, exported when this is built);
// streams of all CPUs at once, in the order of their clocks, and the bandwidths or times that come out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory_system.hpp"

namespace {

using namespace homing::lab::model;
namespace fs = std::filesystem;

std::vector<std::string> all_names() {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(HOMING_LAB_JSON)) result.push_back(entry.path().stem());
  std::sort(result.begin(), result.end());
  return result;
}

machine machine_of(const std::string& name) { return read_machine(fs::path(HOMING_LAB_JSON) / (name + ".json")); }

/// A machine whose CPUs work by turns, the one with the earliest clock first.
class bench {
 public:
  explicit bench(const std::string& name) : m_(machine_of(name)), map_(m_) {
    // The layout of QEMU 7.2: a node's offset among all memory, twice.
    std::uint64_t before = 0;
    for (const memory_shape& memory : m_.memory) {
      map_.learn(2 * before << 20, memory.node);
      first_line_.resize(std::max<std::size_t>(first_line_.size(), memory.node + 1));
      first_line_[memory.node] = (2 * before << 20) / line_bytes;
      before += memory.size_mib;
    }
    EXPECT_EQ(map_.settle(), "");
    system_ = std::make_unique<memory_system>(m_, map_);
    for (unsigned i = 0; i != m_.cpus(); ++i) {
      cpus_.emplace_back(m_.cpu_core[i], m_.cpu_l3[i], m_.cpu_node[i], m_.overlap, system_->layout());
    }
  }

  [[nodiscard]] const machine& of() const { return m_; }
  /// Line `i` of a node's memory.
  [[nodiscard]] std::uint64_t line(unsigned node, std::uint64_t i) const { return first_line_[node] + i; }

  /// Each of `workers` does `steps` steps. Returns ns until the last is through.
  double run(const std::vector<unsigned>& workers, std::uint64_t steps,
             const std::function<void(unsigned cpu, std::uint64_t step)>& work) {
    std::vector<std::uint64_t> done(m_.cpus(), 0);
    ticks last = 0;
    for (;;) {
      unsigned next = m_.cpus();
      for (const unsigned cpu : workers) {
        if (done[cpu] != steps && (next == m_.cpus() || cpus_[cpu].now() < cpus_[next].now())) next = cpu;
      }
      if (next == m_.cpus()) return system_->scale().to_ns(last);
      work(next, done[next]++);
      last = std::max(last, std::max(cpus_[next].now(), cpus_[next].window.drained()));
    }
  }
  void access(unsigned cpu, std::uint64_t at, access_kind kind = access_kind::load) {
    system_->access(cpus_[cpu], at, at, kind, who::program);
  }
  void compute(unsigned cpu, unsigned cycles) { cpus_[cpu].advance_to(cpus_[cpu].now() + cycles * ticks_per_cycle); }

 private:
  machine m_;
  memory_map map_;
  std::unique_ptr<memory_system> system_;
  std::deque<cpu_state> cpus_;
  std::vector<std::uint64_t> first_line_;
};

TEST(LabMachineFiles, TheModelTakesEach) {
  const auto names = all_names();
  EXPECT_GE(names.size(), 17U);
  for (const std::string& name : names) EXPECT_NO_THROW(bench{name}) << name;
  const machine big = machine_of("epyc-7601");
  EXPECT_EQ(big.cpus(), 64U);
  EXPECT_EQ(big.cores(), 64U);
  EXPECT_EQ(big.nodes(), 8U);
}

/// GB/s of all CPUs of node 0, a stream each, from the memory of `node`.
double stream_gbs(const std::string& name, unsigned node) {
  bench b(name);
  std::vector<unsigned> workers;
  for (unsigned cpu = 0; cpu != b.of().cpus(); ++cpu) {
    if (b.of().cpu_node[cpu] == 0) workers.push_back(cpu);
  }
  constexpr std::uint64_t lines = 8192;
  const double ns =
      b.run(workers, lines, [&](unsigned cpu, std::uint64_t i) { b.access(cpu, b.line(node, (cpu + 1) * 65536 + i)); });
  return static_cast<double>(workers.size() * lines * line_bytes) / ns;
}

// "Around 115 GB/s" near and "around 33" far, "a drop of around 3.5 times": NUMA, really.
TEST(LabMachineFiles, FarIsThreeAndAHalfTimesSlowerOnThunderX2) {
  const double near = stream_gbs("thunderx2", 0), far = stream_gbs("thunderx2", 1);
  std::printf("thunderx2: near %.3f GB/s, far %.3f, %.2f times\n", near, far, near / far);
  EXPECT_NEAR(near / far, 115.0 / 33, 0.1);
  EXPECT_NEAR(near, 115.0 / 16, 0.03 * 115 / 16);
}

// What a node's cores saturate there they saturate here.
TEST(LabMachineFiles, ANodesCpusSaturateItsMemoryWhereCoresAreFewer) {
  for (const char* name : {"westmere", "sapphire-rapids-snc4", "epyc-nps2", "nehalem-ex", "epyc-7601"}) {
    const machine m = machine_of(name);
    const double most = m.pair_gbs[0][0] > 0 ? m.pair_gbs[0][0] : m.memory[0].bandwidth_gbs;
    const double found = stream_gbs(name, 0);
    std::printf("%s: %.2f of %.2f GB/s\n", name, found, most);
    EXPECT_NEAR(found, most, 0.05 * most) << name;
  }
}

/// y += a * x, a block of it a CPU, `cycles` of work a line; pages of 64 lines at home or over all nodes in turn.
double update_ns(const std::string& name, bool at_home, unsigned cycles) {
  bench b(name);
  std::vector<unsigned> workers;
  for (unsigned cpu = 0; cpu != b.of().cpus(); ++cpu) workers.push_back(cpu);
  const unsigned nodes = static_cast<unsigned>(b.of().memory.size());
  constexpr std::uint64_t lines = 3072, page = 64;
  const auto place = [&](unsigned cpu, std::uint64_t array, std::uint64_t i) {
    const unsigned node = at_home ? b.of().cpu_node[cpu] : static_cast<unsigned>(i / page + cpu) % nodes;
    return b.line(node, (2 * cpu + array) * 32768 + i);
  };
  return b.run(workers, lines, [&](unsigned cpu, std::uint64_t i) {
    b.access(cpu, place(cpu, 0, i));
    b.access(cpu, place(cpu, 1, i));
    b.compute(cpu, cycles);
    b.access(cpu, place(cpu, 1, i), access_kind::store);
  });
}

// TBB-NUMA, figure 14: with the work at its data's home, pages that are enforced there too (NACS, NADD) beat
// interleaved ones (NACS, INTL). How much depends on what is computed: on westmere least where the controllers are the
// limit of both (2% at 32 cycles a line), most just below that.
TEST(LabMachineFiles, EnforcedPlacementBeatsWorkSendingAlone) {
  const std::pair<const char*, unsigned> cases[] = {
      {"westmere", 160}, {"bulldozer", 48}, {"thunderx2", 48}, {"epyc-7601", 48}};
  for (const auto& [name, cycles] : cases) {
    const double enforced = update_ns(name, true, cycles), interleaved = update_ns(name, false, cycles);
    std::printf("%s, %u cycles a line: enforced takes %.2f of interleaved pages' time\n", name, cycles,
                enforced / interleaved);
    EXPECT_LT(enforced, 0.95 * interleaved) << name;
  }
}

}  // namespace
