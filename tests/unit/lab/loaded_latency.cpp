// Memory's latency grows with the load as published measurements say. Method: four listings of Intel's Memory Latency
// Checker, from two-socket machines; in the model, all cores but one stream from their own node's memory at the rate of
// a row, the last one follows a chain, and its latency is compared with the row's. No clock of the host, no thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include "memory_system.hpp"
#include "unit/common/lab_machine_text.hpp"

namespace {

using namespace homing::lab::model;

struct row {
  double gbs, ns;
};

/// `--loaded_latency`, read-only traffic: GB/s of the whole machine, and the chain's latency.
struct listing {
  std::string name;
  unsigned cores;  // of the machine, two sockets
  double clock_ghz, idle_ns, most_gbs;
  std::vector<row> rows;  // at 10 to 90% of the most
};

const listing listings[] = {
    // 2 x Xeon Platinum 8269CY, MLC 3.9: plantegg.github.io, on the speed of memory.
    {"Cascade Lake 8269CY",
     52,
     2.5,
     78.9,
     226,
     {{24.9, 83.1},
      {32.2, 84.7},
      {41.6, 85.5},
      {58.8, 87.9},
      {81.6, 91.6},
      {101.4, 95.0},
      {133.8, 102.7},
      {195.9, 130.6}}},
    // 2 x Skylake-SP of FD.io's test bed 22, MLC 3.5: FDio/csit, its test bed's documentation (28 cores a socket
    // there).
    {"Skylake-SP",
     56,
     2.5,
     81.4,
     216.6,
     {{27.4, 90.1}, {35.3, 91.0}, {49.7, 92.3}, {68.7, 94.5}, {85.0, 95.5}, {111.6, 101.2}, {160.2, 121.9}}},
    // A machine of two sockets with two clusters each, MLC: plantegg.github.io, on making processors. Its cores are not
    // named; so many as above.
    {"two sockets, four nodes",
     52,
     2.5,
     77.0,
     233.5,
     {{32.2, 81.6}, {41.4, 82.2}, {58.1, 83.7}, {80.0, 85.2}, {98.7, 88.5}, {128.7, 94.0}, {183.1, 109.7}}},
    // cs-arch04, two sockets, MLC 3.11b: notes on a memory benchmark on GitHub. Its cores are not named either.
    {"cs-arch04",
     32,
     2.5,
     82.3,
     159.2,
     {{17.8, 86.4},
      {25.7, 88.1},
      {33.4, 89.4},
      {42.9, 91.3},
      {60.4, 96.7},
      {83.2, 101.2},
      {102.2, 110.6},
      {133.0, 127.9}}},
};

constexpr unsigned memory_mib = 512;

machine machine_of(const listing& of) {
  nlohmann::json j = lab_test::machine_json();
  j["clock_ghz"] = of.clock_ghz;
  j["overlap"] = 16;
  j["cpu_node"] = j["cpu_core"] = j["cpu_l3"] = nlohmann::json::array();
  for (unsigned core = 0; core != of.cores; ++core) {
    j["cpu_core"].push_back(core);
    j["cpu_node"].push_back(core / (of.cores / 2));
    j["cpu_l3"].push_back(core / (of.cores / 2));
  }
  for (auto& memory : j["memory"]) {
    memory["bandwidth_gbs"] = of.most_gbs / 2;
    memory["size_mib"] = memory_mib;
  }
  j["dram_ns"] = {{of.idle_ns, 2 * of.idle_ns}, {2 * of.idle_ns, of.idle_ns}};
  return parse_machine(j.dump());
}

/// One machine at one load, driven in the order of its CPUs' clocks.
class experiment {
 public:
  explicit experiment(const listing& of) : m_(machine_of(of)), map_(m_) {
    map_.learn(0, 0);
    map_.learn(std::uint64_t{2 * memory_mib} << 20, 1);
    EXPECT_EQ(map_.settle(), "");
    system_ = std::make_unique<memory_system>(m_, map_);
    for (unsigned i = 0; i != m_.cpus(); ++i) {
      cpus_.emplace_back(m_.cpu_core[i], m_.cpu_l3[i], m_.cpu_node[i], m_.overlap, system_->layout());
      next_.push_back(std::uint64_t{i % (m_.cpus() / 2)} * lines_a_cpu + 2 * m_.cpu_node[i] * lines_a_node);
    }
  }

  /// What the streams got, and the chain's mean latency.
  row at(double gbs, double microseconds) {
    const auto streams = static_cast<double>(m_.cpus() - 1);
    const ticks interval = system_->scale().from_ns(streams * line_bytes / gbs);
    const ticks warm = system_->scale().from_ns(5000), end = warm + system_->scale().from_ns(microseconds * 1000);
    std::vector<ticks> due(m_.cpus());
    for (unsigned i = 1; i != m_.cpus(); ++i) due[i] = i * interval / m_.cpus();
    std::uint64_t streamed = 0, chained = 0;
    ticks waited = 0;
    for (;;) {
      const auto i = static_cast<unsigned>(std::min_element(due.begin(), due.end()) - due.begin());
      if (due[i] >= end) break;
      const bool counts = due[i] >= warm;
      cpus_[i].advance_to(due[i]);
      if (i == 0) {
        const ticks before = cpus_[0].now();
        access(0, scattered());
        if (counts) ++chained, waited += cpus_[0].now() - before;
        due[0] = cpus_[0].now();
      } else {
        access(i, next_[i]++);
        if (counts) ++streamed;
        due[i] = std::max(due[i] + interval, cpus_[i].now());
      }
    }
    const double ns = system_->scale().to_ns(end - warm);
    return {static_cast<double>(streamed) * line_bytes / ns,
            system_->scale().to_ns(waited) / static_cast<double>(chained)};
  }

 private:
  static constexpr std::uint64_t lines_a_node = (std::uint64_t{memory_mib} << 20) / line_bytes;
  static constexpr std::uint64_t lines_a_cpu = lines_a_node / 32;

  void access(unsigned cpu, std::uint64_t line) {
    system_->access(cpus_[cpu], line, line, access_kind::load, who::program);
  }
  /// A line that nobody streams through, far from the one before.
  std::uint64_t scattered() {
    seed_ ^= seed_ << 13, seed_ ^= seed_ >> 7, seed_ ^= seed_ << 17;
    return 31 * lines_a_cpu + seed_ % lines_a_cpu;
  }

  machine m_;
  memory_map map_;
  std::unique_ptr<memory_system> system_;
  std::deque<cpu_state> cpus_;
  std::vector<std::uint64_t> next_;
  std::uint64_t seed_ = 88172645463325252;
};

class LabLoadedLatency : public testing::TestWithParam<listing> {};

TEST_P(LabLoadedLatency, IsThePublishedOne) {
  const listing& of = GetParam();
  for (const row& published : of.rows) {
    const row found = experiment(of).at(published.gbs, 40);
    std::printf("%s: %5.1f GB/s (%2.0f%%): published %5.1f ns, model %5.1f ns (%+.1f%%)\n", of.name.c_str(), found.gbs,
                100 * published.gbs / of.most_gbs, published.ns, found.ns, 100 * (found.ns / published.ns - 1));
    EXPECT_NEAR(found.gbs, published.gbs, 0.02 * published.gbs);
    EXPECT_NEAR(found.ns, published.ns, 0.08 * published.ns);
  }
}

TEST_P(LabLoadedLatency, IsTheIdleOneWithoutLoad) {
  const row found = experiment(GetParam()).at(0.5, 40);
  EXPECT_NEAR(found.ns, GetParam().idle_ns, 0.01 * GetParam().idle_ns);
}

TEST_P(LabLoadedLatency, OnlyGrows) {
  double before = 0;
  for (double share = 0.05; share < 1.3; share += 0.1) {
    const double ns = experiment(GetParam()).at(share * GetParam().most_gbs, 20).ns;
    EXPECT_GT(ns, 0.995 * before);
    before = ns;
  }
  // Twice the idle latency and more where the streams ask for more than there is.
  EXPECT_GT(before, 2 * GetParam().idle_ns);
  std::printf("%s: %.0f ns at saturation\n", GetParam().name.c_str(), before);
}

INSTANTIATE_TEST_SUITE_P(Published, LabLoadedLatency, testing::ValuesIn(listings), [](const auto& instance) {
  std::string name = instance.param.name;
  name.erase(
      std::remove_if(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }),
      name.end());
  return name;
});

}  // namespace
