#include "latency/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/text.hpp"
#include "measure/picture.hpp"
#include "measure/report_parts.hpp"
#include "measure/text_matrix.hpp"
#include "measure/units.hpp"

namespace homing::measure {
namespace {

using nlohmann::ordered_json;

memory_fact all_memory(const latency_figures& figures) {
  memory_fact all;
  for (const latency_figure& f : figures.idle) all = together(all, f.memory);
  for (const loaded_curve& c : figures.loaded) all = together(all, c.memory);
  return all;
}

std::string size_range(const latency_figures& figures) {
  const auto [least, most] = std::minmax_element(figures.idle.begin(), figures.idle.end(),
                                                 [](auto& a, auto& b) { return a.buffer_bytes < b.buffer_bytes; });
  const std::string large = size_text(most->buffer_bytes);
  return least->buffer_bytes == most->buffer_bytes ? large : size_text(least->buffer_bytes) + " to " + large;
}

// Second-level TLBs hold up to 3072 base pages.
bool misses_the_tlb(const latency_figures& figures) {
  return std::any_of(figures.idle.begin(), figures.idle.end(), [](const latency_figure& f) {
    return f.buffer_bytes > 2 * 3072 * static_cast<std::uint64_t>(f.memory.page_bytes);
  });
}

const char* star(const memory_fact& fact) { return fact.is_placed() ? "" : "*"; }

std::string delay_text(const loaded_point& point) {
  return point.delay_ns ? std::to_string(*point.delay_ns) : std::string("no load");
}

std::string curve_text(const latency_report& r, const loaded_curve& curve) {
  const std::string label = label_of(r.what, curve.pair);
  if (!curve.why_not.empty()) return fmt::format("\nunder load, {}: not measured: {}\n", label, curve.why_not);
  text_matrix m{fmt::format("\nunder load, {}: {} thread{} reading {} KiB at a time", label, curve.readers,
                            curve.readers == 1 ? "" : "s", 4),
                "delay, ns",
                "",
                {},
                {"latency, ns", "bandwidth, MB/s"},
                {}};
  for (const loaded_point& point : curve.points) {
    m.row_names.push_back(delay_text(point));
    m.cells.push_back(spread_text(point.ns) + star(curve.memory));
    m.cells.push_back(spread_text(point.mb_per_s));
  }
  return draw(m);
}

}  // namespace

std::string latency_report::text() const {
  std::string out =
      fmt::format("memory latency in ns, dependent loads: median of {} runs (lowest, highest)\n", wishes.repeat);
  out += "machine: " + machine.text() + '\n' + machine.clock_text();
  out += fmt::format("one thread, buffer of {}, {}, a random cycle through lines of {} bytes\n", size_range(figures),
                     pages_text(all_memory(figures), wishes.pages), figures.idle.front().line_bytes);
  text_matrix m{"\nidle, ns", "CPU node", "memory node", cpu_node_names(what), memory_node_names(what), {}};
  std::vector<std::string> labels;
  std::vector<memory_fact> facts;
  std::size_t unbound = 0;
  for (const latency_figure& f : figures.idle) {
    m.cells.push_back(spread_text(f.ns) + star(f.memory) + (f.is_complete ? "" : " WRONG"));
    labels.push_back(label_of(what, f.pair));
    facts.push_back(f.memory);
    unbound = std::max(unbound, f.unbound);
  }
  out += draw(m);
  for (const loaded_curve& curve : figures.loaded) {
    out += curve_text(*this, curve);
    if (!curve.why_not.empty()) continue;
    labels.push_back("under load, " + label_of(what, curve.pair));
    facts.push_back(curve.memory);
    unbound = std::max(unbound, curve.unbound);
  }
  const memory_fact all = all_memory(figures);
  out += unplaced_text(labels, facts);
  if (all.huge < all.bytes && misses_the_tlb(figures)) {
    out += "note: without huge pages nearly every load misses the TLB as well: these figures include the page walk\n";
  }
  if (unbound > 0) out += fmt::format("note: {} threads could not be bound to their CPU\n", unbound);
  return out + notes_text(what.notes);
}

std::string latency_report::json() const {
  ordered_json out = heading_json("latency", "ns", what, machine, wishes.repeat, wishes.pages);
  ordered_json rows = ordered_json::array();
  for (std::size_t c = 0; c < what.cpu_nodes.size(); ++c) {
    ordered_json row = ordered_json::array();
    for (std::size_t m = 0; m < what.memory_nodes.size(); ++m) {
      row.push_back(figures.idle[c * what.memory_nodes.size() + m].ns.median);
    }
    rows.push_back(row);
  }
  out["median_matrix"] = rows;
  const auto pair_json = [&](const node_pair& pair) {
    return ordered_json{{"cpu_node", to_number(what.cpu_nodes[pair.cpu].id)},
                        {"memory_node", to_number(what.memory_nodes[pair.memory].id)}};
  };
  out["idle"] = ordered_json::array();
  for (const latency_figure& f : figures.idle) {
    ordered_json one = pair_json(f.pair);
    one["buffer_bytes"] = f.buffer_bytes;
    one["line_bytes"] = f.line_bytes;
    one["loads_a_run"] = f.steps;
    one["memory"] = memory_json(f.memory);
    one["unbound_threads"] = f.unbound;
    one["right"] = f.is_complete;
    one["ns"] = spread_json(f.ns);
    out["idle"].push_back(one);
  }
  out["loaded"] = ordered_json::array();
  for (const loaded_curve& c : figures.loaded) {
    ordered_json one = pair_json(c.pair);
    one["measured"] = c.why_not.empty();
    one["why_not_measured"] = c.why_not.empty() ? ordered_json(nullptr) : ordered_json(c.why_not);
    if (c.why_not.empty()) {
      one["reading_threads"] = c.readers;
      one["buffer_bytes"] = c.buffer_bytes;
      one["load_bytes"] = c.load_bytes;
      one["memory"] = memory_json(c.memory);
      one["unbound_threads"] = c.unbound;
      one["right"] = c.is_complete;
      one["points"] = ordered_json::array();
      for (const loaded_point& p : c.points) {
        one["points"].push_back({{"delay_ns", p.delay_ns ? ordered_json(*p.delay_ns) : ordered_json(nullptr)},
                                 {"ns", spread_json(p.ns)},
                                 {"mb_per_s", spread_json(p.mb_per_s)}});
      }
    }
    out["loaded"].push_back(one);
  }
  return cli::json_text(out);
}

std::string latency_report::csv() const {
  std::string out = "kind,cpu_node,memory_node,delay_ns,unit," + spread_csv_header() + "," + memory_csv_header() +
                    ",bandwidth_mb_per_s,right,virtual\n";
  const auto line = [&](const char* kind, const node_pair& pair, const std::string& delay, const spread& ns,
                        const memory_fact& memory, const std::string& bandwidth, bool right) {
    out += fmt::format("{},{},{},{},ns,{},{},{},{},{}\n", kind, to_number(what.cpu_nodes[pair.cpu].id),
                       to_number(what.memory_nodes[pair.memory].id), delay, spread_csv(ns), memory_csv(memory),
                       bandwidth, right ? 1 : 0, machine.is_virtual ? 1 : 0);
  };
  for (const latency_figure& f : figures.idle) line("idle", f.pair, "", f.ns, f.memory, "", f.is_complete);
  for (const loaded_curve& c : figures.loaded) {
    for (const loaded_point& p : c.points) {
      line("loaded", c.pair, p.delay_ns ? std::to_string(*p.delay_ns) : "", p.ns, c.memory,
           fmt::format("{:.3f}", p.mb_per_s.median), c.is_complete);
    }
  }
  return out;
}

std::string latency_report::svg() const {
  picture p("Memory latency, ns", palette::orange);
  p.caption(machine.text());
  if (!machine.clock_text().empty()) p.caption(machine.clock_text().substr(0, machine.clock_text().size() - 1));
  p.caption(fmt::format("dependent loads, median of {} runs (lowest, highest); {}, {}", wishes.repeat,
                        size_range(figures), pages_text(all_memory(figures), wishes.pages)));
  if (machine.is_virtual) p.caption("virtual: no memory could be placed; not the figures of such a machine");
  heat_map map{"idle", "CPU node", "memory node", cpu_node_names(what), memory_node_names(what), {}};
  for (const latency_figure& f : figures.idle) {
    map.cells.push_back({f.ns.median, fmt::format("{:.1f}{}", f.ns.median, star(f.memory)), range_text(f.ns)});
  }
  p.add(map);
  curve_chart chart{"under load, each CPU node on its nearest memory", "bandwidth, MB/s", "latency, ns", {}};
  for (const loaded_curve& c : figures.loaded) {
    if (!c.why_not.empty()) {
      p.caption(fmt::format("under load, {}: not measured: {}", label_of(what, c.pair), c.why_not));
      continue;
    }
    curve one{label_of(what, c.pair) + star(c.memory), {}};
    for (const loaded_point& point : c.points) {
      one.points.push_back({point.mb_per_s.median, point.ns.median, point.ns.min, point.ns.max});
    }
    chart.curves.push_back(std::move(one));
  }
  if (!chart.curves.empty()) p.add(chart);
  return p.finish();
}

std::string latency_report::wrong() const {
  std::string out;
  const auto add = [&](const node_pair& pair) {
    out += fmt::format("{}{}: the walk did not go through its whole buffer", out.empty() ? "" : "\n",
                       label_of(what, pair));
  };
  for (const latency_figure& f : figures.idle) {
    if (!f.is_complete) add(f.pair);
  }
  for (const loaded_curve& c : figures.loaded) {
    if (c.why_not.empty() && !c.is_complete) add(c.pair);
  }
  return out;
}

}  // namespace homing::measure
