#include "latency/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "measure/chase.hpp"
#include "measure/load.hpp"
#include "measure/team.hpp"
#include "measure/units.hpp"
#include "platform/caches.hpp"

namespace homing::measure {
namespace {

constexpr unsigned caches_factor = 4;
constexpr std::uint64_t buffer_bytes_min = std::uint64_t{64} << 20;
constexpr std::uint64_t buffer_grain = 4096;
constexpr std::size_t steps_max = std::size_t{1} << 20;
constexpr std::size_t steps_min = std::size_t{1} << 14;
constexpr std::uint64_t seed = 20240607;  // any: the same order on every machine
// Between two chunks of a reader. From hardly any load to as much as the readers can make.
constexpr std::array<std::uint64_t, 10> delays_ns{20000, 10000, 5000, 2500, 1200, 600, 300, 150, 50, 0};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::uint64_t wanted_bytes(const plan& p, const latency_wishes& wishes, std::size_t cpu) {
  return wishes.buffer_bytes.value_or(
      std::max(buffer_bytes_min, beyond_caches(p.cpu_nodes[cpu].own_cache_bytes, caches_factor)));
}

// The walker's buffer; the readers' is of `load_bytes` and shrinks with it.
void fit(plan& p, const latency_wishes& wishes, const node_pair& pair, std::uint64_t& bytes,
         std::uint64_t& load_bytes) {
  const shortage shortage = look_for_shortage(p, {{pair.memory, bytes + load_bytes}});
  if (shortage.share == 1) return;
  if (wishes.buffer_bytes) {
    p.error =
        fmt::format("--size: {} needs {} of {}", label_of(p, pair), size_text(bytes + load_bytes), shortage.where);
    return;
  }
  for (std::uint64_t* one : {&bytes, &load_bytes}) {
    const auto smaller = static_cast<std::uint64_t>(static_cast<double>(*one) * shortage.share);
    if (*one > 0) *one = std::max(buffer_grain, smaller / buffer_grain * buffer_grain);
  }
  p.notes.push_back(fmt::format("{}: buffers cut to {:.0f}% of what the caches ask for, to fit into {}",
                                label_of(p, pair), shortage.share * 100, shortage.where));
}

// A walker that goes on where it stopped.
class walker {
 public:
  explicit walker(const chase_cycle& cycle)
      : steps_(std::clamp(cycle.lines(), steps_min, steps_max)), at_(cycle.start()) {}
  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  void go(std::size_t steps) noexcept { at_ = chase_cycle::walk(at_, steps); }
  /// Seconds of one run.
  double timed_run() noexcept {
    const double begin = now_s();
    go(steps_);
    const double end = now_s();
    // The address is needed, so the walk was; a volatile write that nobody reads.
    const void* const volatile used = at_;
    static_cast<void>(used);
    return end - begin;
  }

 private:
  std::size_t steps_;
  const void* at_;
};

void measure_idle(const plan& p, const latency_wishes& wishes, latency_figure& figure) {
  const cpu_node& cpu = p.cpu_nodes[figure.pair.cpu];
  placed_buffer memory(figure.buffer_bytes, p.memory_nodes[figure.pair.memory].index, wishes.pages);
  team alone({cpu.cpus.front()});
  std::vector<double> samples;
  figure.line_bytes = platform::cache_line_bytes(cpu.cpus.front());
  alone.run([&](std::size_t) {
    const chase_cycle cycle(memory.data(), figure.buffer_bytes, figure.line_bytes, seed);
    figure.is_complete = cycle.length() == cycle.lines();  // the lap that warms up as well
    walker w(cycle);
    figure.steps = w.steps();
    for (unsigned run = 0; run < wishes.repeat; ++run) {
      samples.push_back(w.timed_run() / static_cast<double>(w.steps()) * 1e9);
    }
  });
  figure.unbound = alone.unbound();
  figure.ns = summarize(std::move(samples));
  figure.memory = memory.fact();
}

struct sample {
  double ns;
  double mb_per_s;
};

// One run of the walker among readers. Member 0 of the team walks.
sample run_under_load(team& threads, walker& w, paced_load& load, std::optional<std::uint64_t> delay_ns,
                      std::size_t line_bytes) {
  sample result{};
  load.reset();
  threads.run([&](std::size_t member) {
    if (member > 0) {
      if (delay_ns) load.read(member - 1, *delay_ns);
      return;
    }
    w.go(w.steps() / 8);  // until the readers are at their pace
    const std::uint64_t before = load.bytes_read();
    const double seconds = w.timed_run();
    const std::uint64_t read = load.bytes_read() - before;
    load.stop();
    result.ns = seconds / static_cast<double>(w.steps()) * 1e9;
    result.mb_per_s = static_cast<double>(read + w.steps() * line_bytes) / seconds / 1e6;
  });
  return result;
}

void measure_loaded(const plan& p, const latency_wishes& wishes, loaded_curve& curve, const progress& report) {
  const cpu_node& cpu = p.cpu_nodes[curve.pair.cpu];
  const node_index node = p.memory_nodes[curve.pair.memory].index;
  placed_buffer memory(curve.buffer_bytes, node, wishes.pages);
  paced_load load(curve.readers, curve.load_bytes, node, wishes.pages);
  team threads(cpu.cpus);
  curve.unbound = threads.unbound();
  const std::size_t line_bytes = platform::cache_line_bytes(cpu.cpus.front());
  std::optional<chase_cycle> cycle;
  threads.run([&](std::size_t member) {
    if (member > 0) return load.touch(member - 1);
    cycle.emplace(memory.data(), curve.buffer_bytes, line_bytes, seed);
    curve.is_complete = cycle->length() == cycle->lines();
  });
  walker w(*cycle);
  curve.points.push_back({std::nullopt});
  for (const std::uint64_t delay : delays_ns) curve.points.push_back({delay});
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    loaded_point& point = curve.points[i];
    report(i, curve.points.size(), "under load, " + label_of(p, curve.pair));
    std::vector<double> ns;
    std::vector<double> mb_per_s;
    for (unsigned run = 0; run < wishes.repeat; ++run) {
      const sample s = run_under_load(threads, w, load, point.delay_ns, line_bytes);
      ns.push_back(s.ns);
      mb_per_s.push_back(s.mb_per_s);
    }
    point.ns = summarize(std::move(ns));
    point.mb_per_s = summarize(std::move(mb_per_s));
  }
  curve.memory = together(memory.fact(), load.fact());
}

void note_small_buffers(plan& p, const latency_wishes& wishes) {
  if (!wishes.buffer_bytes) return;
  const std::uint64_t largest = largest_cache(p, &cpu_node::own_cache_bytes);
  if (*wishes.buffer_bytes >= caches_factor * largest) return;
  p.notes.push_back(
      fmt::format("a buffer of {} is smaller than four times the walker's cache ({}): part of this is the "
                  "caches' latency",
                  size_text(*wishes.buffer_bytes), size_text(largest)));
}

}  // namespace

std::string label_of(const plan& p, const node_pair& pair) {
  return fmt::format("CPU node {}, memory node {}", to_number(p.cpu_nodes[pair.cpu].id),
                     to_number(p.memory_nodes[pair.memory].id));
}

latency_figures list_walks(plan& p, const latency_wishes& wishes) {
  latency_figures figures;
  for (std::size_t c = 0; c < p.cpu_nodes.size(); ++c) {
    for (std::size_t m = 0; m < p.memory_nodes.size(); ++m) {
      latency_figure figure{.pair = {c, m}, .buffer_bytes = wanted_bytes(p, wishes, c)};
      std::uint64_t no_load = 0;
      fit(p, wishes, figure.pair, figure.buffer_bytes, no_load);
      figures.idle.push_back(std::move(figure));
    }
  }
  for (std::size_t c = 0; wishes.loaded && c < p.cpu_nodes.size(); ++c) {
    const cpu_node& cpu = p.cpu_nodes[c];
    loaded_curve curve{.pair = {c, p.place_of(cpu.local)}};
    curve.readers = cpu.cpus.size() - 1;
    if (curve.readers == 0) {
      curve.why_not = "one thread: the walker and the load need a CPU each";
    } else {
      curve.buffer_bytes = wanted_bytes(p, wishes, c);
      curve.load_bytes = wishes.buffer_bytes.value_or(beyond_caches(cpu.cache_bytes, caches_factor));
      fit(p, wishes, curve.pair, curve.buffer_bytes, curve.load_bytes);
    }
    figures.loaded.push_back(std::move(curve));
  }
  note_small_buffers(p, wishes);
  return figures;
}

void walk_all(const plan& p, const latency_wishes& wishes, latency_figures& figures, const progress& report) {
  for (std::size_t f = 0; f < figures.idle.size(); ++f) {
    report(f, figures.idle.size(), label_of(p, figures.idle[f].pair));
    measure_idle(p, wishes, figures.idle[f]);
  }
  for (loaded_curve& curve : figures.loaded) {
    if (curve.why_not.empty()) measure_loaded(p, wishes, curve, report);
  }
}

}  // namespace homing::measure
