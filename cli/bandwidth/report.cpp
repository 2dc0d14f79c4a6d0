#include "bandwidth/report.hpp"

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

bool is_measured(const bandwidth_figure& f) { return f.why_not.empty(); }

std::string cell(const bandwidth_figure& f, std::size_t kernel_place) {
  if (!is_measured(f)) return "not measured";
  const stream_result& r = f.result;
  return spread_text(r.mb_per_s[kernel_place]) + (r.memory.is_placed() ? "" : "*") + (r.wrong ? " WRONG" : "");
}

memory_fact all_memory(const std::vector<bandwidth_figure>& figures) {
  memory_fact all;
  for (const bandwidth_figure& f : figures) {
    if (is_measured(f) && !f.same_as) all = together(all, f.result.memory);
  }
  return all;
}

std::string size_range(const std::vector<bandwidth_figure>& figures) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const bandwidth_figure& f : figures) {
    for (const std::uint64_t bytes : f.array_bytes) {
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
  }
  return least == most ? size_text(most) : size_text(least) + " to " + size_text(most);
}

std::string patterns_text(const bandwidth_report& r) {
  text_matrix m{"all CPU nodes at once, MB/s", "", "", {}, {}, {}};
  for (const kernel k : r.wishes.kernels) m.column_names.emplace_back(name_of(k));
  std::string remarks;
  for (const bandwidth_figure& f : r.figures) {
    if (f.what == pattern::pair) continue;
    if (!is_measured(f)) {
      remarks += fmt::format("{}: not measured: {}\n", name_of(f.what), f.why_not);
      continue;
    }
    if (f.same_as) {
      remarks += fmt::format("{}: the same threads and memory as {}: measured once\n", label_of(r.what, f),
                             label_of(r.what, r.figures[*f.same_as]));
    }
    m.row_names.push_back(label_of(r.what, f));
    for (std::size_t k = 0; k < r.wishes.kernels.size(); ++k) m.cells.push_back(cell(f, k));
  }
  return draw(m) + remarks;
}

std::string threads_text(const plan& p) {
  std::string text;
  for (const cpu_node& c : p.cpu_nodes) {
    text += fmt::format("{}{} on node {}", text.empty() ? "" : ", ", c.cpus.size(), to_number(c.id));
  }
  return text;
}

}  // namespace

std::string bandwidth_report::text() const {
  std::string out =
      fmt::format("STREAM bandwidth in MB/s (10^6 bytes/s): median of {} runs (lowest, highest)\n", wishes.repeat);
  out += "machine: " + machine.text() + '\n' + machine.clock_text();
  out += fmt::format("threads: {}; arrays: 3 x {} a CPU node, {}\n", threads_text(what), size_range(figures),
                     pages_text(all_memory(figures), wishes.pages));
  for (std::size_t k = 0; k < wishes.kernels.size(); ++k) {
    text_matrix m{fmt::format("\n{}, MB/s", name_of(wishes.kernels[k])),
                  "CPU node",
                  "memory node",
                  cpu_node_names(what),
                  memory_node_names(what),
                  {}};
    for (const bandwidth_figure& f : figures) {
      if (f.what == pattern::pair) m.cells.push_back(cell(f, k));
    }
    out += draw(m);
  }
  out += '\n' + patterns_text(*this);
  std::vector<std::string> labels;
  std::vector<memory_fact> facts;
  std::size_t unbound = 0;
  for (const bandwidth_figure& f : figures) {
    if (!is_measured(f) || f.same_as) continue;
    labels.push_back(label_of(what, f));
    facts.push_back(f.result.memory);
    unbound = std::max(unbound, f.result.unbound);
  }
  out += unplaced_text(labels, facts);
  if (unbound > 0) out += fmt::format("note: {} threads could not be bound to their CPU\n", unbound);
  if (wrong().empty()) out += "results checked as STREAM checks them: right\n";
  return out + notes_text(what.notes);
}

std::string bandwidth_report::json() const {
  ordered_json out = heading_json("bandwidth", "MB/s", what, machine, wishes.repeat, wishes.pages);
  ordered_json names = ordered_json::array();
  ordered_json matrices = ordered_json::object();
  for (std::size_t k = 0; k < wishes.kernels.size(); ++k) {
    names.push_back(name_of(wishes.kernels[k]));
    ordered_json rows = ordered_json::array();
    for (std::size_t c = 0; c < what.cpu_nodes.size(); ++c) {
      ordered_json row = ordered_json::array();
      for (std::size_t m = 0; m < what.memory_nodes.size(); ++m) {
        row.push_back(figures[c * what.memory_nodes.size() + m].result.mb_per_s[k].median);
      }
      rows.push_back(row);
    }
    matrices[name_of(wishes.kernels[k])] = rows;
  }
  out["kernels"] = names;
  out["median_matrix"] = matrices;
  ordered_json list = ordered_json::array();
  for (const bandwidth_figure& f : figures) {
    ordered_json one{{"pattern", name_of(f.what)}, {"measured", is_measured(f)}};
    one["why_not_measured"] = is_measured(f) ? ordered_json(nullptr) : ordered_json(f.why_not);
    ordered_json groups = ordered_json::array();
    for (std::size_t i = 0; i < f.pairs.size(); ++i) {
      const cpu_node& cpu = what.cpu_nodes[f.pairs[i].cpu];
      groups.push_back({{"cpu_node", to_number(cpu.id)},
                        {"memory_node", to_number(what.memory_nodes[f.pairs[i].memory].id)},
                        {"threads", cpu.cpus.size()},
                        {"array_bytes", f.array_bytes[i]}});
    }
    one["groups"] = groups;
    if (is_measured(f)) {
      one["same_as"] = f.same_as ? ordered_json(*f.same_as) : ordered_json(nullptr);
      one["memory"] = memory_json(f.result.memory);
      one["unbound_threads"] = f.result.unbound;
      one["right"] = !f.result.wrong;
      one["wrong"] = f.result.wrong ? ordered_json(*f.result.wrong) : ordered_json(nullptr);
      for (std::size_t k = 0; k < wishes.kernels.size(); ++k) {
        one["mb_per_s"][name_of(wishes.kernels[k])] = spread_json(f.result.mb_per_s[k]);
      }
    }
    list.push_back(one);
  }
  out["measurements"] = list;
  return cli::json_text(out);
}

std::string bandwidth_report::csv() const {
  std::string out = "pattern,cpu_node,memory_node,kernel,unit," + spread_csv_header() + "," + memory_csv_header() +
                    ",right,virtual\n";
  for (const bandwidth_figure& f : figures) {
    if (!is_measured(f)) continue;
    const bool one_cpu_node = f.what == pattern::pair;
    const bool one_memory = one_cpu_node || f.what == pattern::all_to_one;
    for (std::size_t k = 0; k < wishes.kernels.size(); ++k) {
      out += fmt::format("{},{},{},{},MB/s,{},{},{},{}\n", name_of(f.what),
                         one_cpu_node ? std::to_string(to_number(what.cpu_nodes[f.pairs[0].cpu].id)) : "all",
                         one_memory ? std::to_string(to_number(what.memory_nodes[f.pairs[0].memory].id)) : "several",
                         name_of(wishes.kernels[k]), spread_csv(f.result.mb_per_s[k]), memory_csv(f.result.memory),
                         f.result.wrong ? 0 : 1, machine.is_virtual ? 1 : 0);
    }
  }
  return out;
}

std::string bandwidth_report::svg() const {
  picture p("STREAM bandwidth, MB/s", palette::blue);
  p.caption(machine.text());
  if (!machine.clock_text().empty()) p.caption(machine.clock_text().substr(0, machine.clock_text().size() - 1));
  p.caption(fmt::format("median of {} runs (lowest, highest); arrays of {}, {}", wishes.repeat, size_range(figures),
                        pages_text(all_memory(figures), wishes.pages)));
  if (machine.is_virtual) p.caption("virtual: no memory could be placed; not the figures of such a machine");
  for (std::size_t k = 0; k < wishes.kernels.size(); ++k) {
    heat_map map{name_of(wishes.kernels[k]), "CPU node", "memory node", cpu_node_names(what),
                 memory_node_names(what),    {}};
    for (const bandwidth_figure& f : figures) {
      if (f.what != pattern::pair) continue;
      const spread& s = f.result.mb_per_s[k];
      map.cells.push_back(
          {s.median, fmt::format("{:.0f}{}", s.median, f.result.memory.is_placed() ? "" : "*"), range_text(s)});
    }
    p.add(map);
  }
  return p.finish();
}

std::string bandwidth_report::wrong() const {
  std::string out;
  for (const bandwidth_figure& f : figures) {
    if (is_measured(f) && !f.same_as && f.result.wrong) {
      out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", label_of(what, f), *f.result.wrong);
    }
  }
  return out;
}

}  // namespace homing::measure
