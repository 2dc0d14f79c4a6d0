#include "bandwidth/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/units.hpp"

namespace homing::measure {
namespace {

constexpr unsigned caches_factor = 4;  // STREAM's rule: each array at least four times the caches
constexpr std::uint64_t array_count = 3;
constexpr std::uint64_t array_bytes_min = 4096;

std::vector<bandwidth_figure> all_measurements(const plan& p) {
  std::vector<bandwidth_figure> figures;
  for (std::size_t c = 0; c < p.cpu_nodes.size(); ++c) {
    for (std::size_t m = 0; m < p.memory_nodes.size(); ++m) figures.push_back({pattern::pair, {{c, m}}});
  }
  const auto everybody = [&](auto memory_of) {
    std::vector<node_pair> pairs;
    for (std::size_t c = 0; c < p.cpu_nodes.size(); ++c) {
      pairs.push_back({c, memory_of(p.place_of(p.cpu_nodes[c].local))});
    }
    return pairs;
  };
  figures.push_back({pattern::all_local, everybody([](std::size_t local) { return local; })});
  for (std::size_t m = 0; m < p.memory_nodes.size(); ++m) {
    figures.push_back({pattern::all_to_one, everybody([m](std::size_t) { return m; })});
  }
  const std::size_t memories = p.memory_nodes.size();
  bandwidth_figure remote{pattern::all_remote, everybody([&](std::size_t local) { return (local + 1) % memories; })};
  if (memories == 1) {
    remote.pairs.clear();
    remote.why_not = "there is one memory node";
  }
  figures.push_back(std::move(remote));
  for (std::size_t f = 0; f < figures.size(); ++f) {
    for (std::size_t earlier = 0; earlier < f && !figures[f].same_as; ++earlier) {
      if (!figures[f].pairs.empty() && figures[earlier].pairs == figures[f].pairs) figures[f].same_as = earlier;
    }
  }
  return figures;
}

// Bytes that a measurement wants on each memory node.
std::map<std::size_t, std::uint64_t> demand(const bandwidth_figure& figure) {
  std::map<std::size_t, std::uint64_t> bytes;
  for (std::size_t i = 0; i < figure.pairs.size(); ++i) {
    bytes[figure.pairs[i].memory] += array_count * figure.array_bytes[i];
  }
  return bytes;
}

void fit(plan& p, const bandwidth_wishes& wishes, bandwidth_figure& figure) {
  for (const node_pair& pair : figure.pairs) {
    figure.array_bytes.push_back(
        wishes.array_bytes.value_or(beyond_caches(p.cpu_nodes[pair.cpu].cache_bytes, caches_factor)));
  }
  const auto wanted = demand(figure);
  const shortage shortage = look_for_shortage(p, wanted);
  if (shortage.share == 1) return;
  std::uint64_t all = 0;
  for (const auto& [memory, bytes] : wanted) all += bytes;
  if (wishes.array_bytes) {
    p.error = fmt::format("--size: {} needs {} of {}", label_of(p, figure), size_text(all), shortage.where);
    return;
  }
  for (std::uint64_t& bytes : figure.array_bytes) {
    const auto smaller = static_cast<std::uint64_t>(static_cast<double>(bytes) * shortage.share);
    bytes = std::max(array_bytes_min, smaller / array_bytes_min * array_bytes_min);
  }
  p.notes.push_back(fmt::format("{}: arrays cut to {:.0f}% of what the caches ask for, to fit into {}",
                                label_of(p, figure), shortage.share * 100, shortage.where));
}

void note_small_arrays(plan& p, const bandwidth_wishes& wishes) {
  if (!wishes.array_bytes) return;
  const std::uint64_t largest = largest_cache(p, &cpu_node::cache_bytes);
  if (*wishes.array_bytes >= caches_factor * largest) return;
  p.notes.push_back(
      fmt::format("arrays of {} are smaller than four times a node's caches ({}): part of this is the "
                  "caches' bandwidth",
                  size_text(*wishes.array_bytes), size_text(largest)));
}

stream_request request_for(const plan& p, const bandwidth_wishes& wishes, const bandwidth_figure& figure) {
  stream_request request{{}, wishes.kernels, wishes.repeat, wishes.pages};
  for (std::size_t i = 0; i < figure.pairs.size(); ++i) {
    request.groups.push_back({p.cpu_nodes[figure.pairs[i].cpu].cpus, p.memory_nodes[figure.pairs[i].memory].index,
                              static_cast<std::size_t>(figure.array_bytes[i])});
  }
  return request;
}

}  // namespace

const char* name_of(pattern p) noexcept {
  switch (p) {
    case pattern::pair:
      return "pair";
    case pattern::all_local:
      return "all-local";
    case pattern::all_to_one:
      return "all-to-one";
    case pattern::all_remote:
      break;
  }
  return "all-remote";
}

std::string label_of(const plan& p, const bandwidth_figure& figure) {
  if (figure.what == pattern::pair) {
    return fmt::format("CPU node {}, memory node {}", to_number(p.cpu_nodes[figure.pairs[0].cpu].id),
                       to_number(p.memory_nodes[figure.pairs[0].memory].id));
  }
  if (figure.what == pattern::all_to_one) {
    return fmt::format("all-to-one, memory node {}", to_number(p.memory_nodes[figure.pairs[0].memory].id));
  }
  return name_of(figure.what);
}

std::vector<bandwidth_figure> list_measurements(plan& p, const bandwidth_wishes& wishes) {
  std::vector<bandwidth_figure> figures = all_measurements(p);
  for (bandwidth_figure& figure : figures) {
    if (figure.same_as) {
      figure.array_bytes = figures[*figure.same_as].array_bytes;
    } else {
      fit(p, wishes, figure);
    }
    if (!p.error.empty()) return {};
  }
  note_small_arrays(p, wishes);
  return figures;
}

void measure_all(const plan& p, const bandwidth_wishes& wishes, std::vector<bandwidth_figure>& figures,
                 const progress& report) {
  for (std::size_t f = 0; f < figures.size(); ++f) {
    bandwidth_figure& figure = figures[f];
    report(f, figures.size(), label_of(p, figure));
    if (figure.same_as) {
      figure.result = figures[*figure.same_as].result;
    } else if (figure.why_not.empty()) {
      figure.result = measure_stream(request_for(p, wishes, figure));
    }
  }
}

}  // namespace homing::measure
