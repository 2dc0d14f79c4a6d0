#include "machine.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace homing::lab::model {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found) {
  throw machine_error(where + ": expected " + expected + ", found " + found);
}

/// A place in the document and its path, so that every complaint names it.
struct place {
  const json& at;
  std::string path;

  [[nodiscard]] place operator[](const char* key) const {
    if (!at.is_object()) fail(path, "an object", at.dump());
    if (!at.contains(key)) fail(path.empty() ? key : path + "." + key, "a value", "none");
    return {at[key], path.empty() ? key : path + "." + key};
  }
  [[nodiscard]] place operator[](std::size_t i) const { return {at[i], path + "[" + std::to_string(i) + "]"}; }
  [[nodiscard]] std::size_t size() const {
    if (!at.is_array()) fail(path, "a list", at.dump());
    return at.size();
  }
  void only(const std::set<std::string>& keys) const {
    if (!at.is_object()) fail(path.empty() ? "machine" : path, "an object", at.dump());
    for (const auto& [key, value] : at.items()) {
      if (!keys.contains(key)) fail((path.empty() ? "" : path + ".") + key, "no such key", "it");
    }
  }
  [[nodiscard]] double positive() const {
    if (!at.is_number() || !(at.get<double>() > 0)) fail(path, "a number above 0", at.dump());
    return at.get<double>();
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t most) const {
    const std::string range = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!at.is_number_unsigned() || at.get<std::uint64_t>() < least || at.get<std::uint64_t>() > most) {
      fail(path, range, at.dump());
    }
    return at.get<std::uint64_t>();
  }
  [[nodiscard]] unsigned index(std::size_t below) const {
    if (below == 0) fail(path, "nothing: there is none of these", at.dump());
    return static_cast<unsigned>(count(0, below - 1));
  }
  [[nodiscard]] std::string text() const {
    if (!at.is_string()) fail(path, "a text", at.dump());
    return at.get<std::string>();
  }
};

cache_shape read_cache(const place& p) {
  cache_shape c;
  c.size_kib = p["size_kib"].positive();
  c.ways = static_cast<unsigned>(p["ways"].count(1, 64));
  c.latency_ns = p["latency_ns"].positive();
  if (c.sets() == 0) fail(p.path, "at least one set of " + std::to_string(c.ways) + " lines", p.at.dump());
  return c;
}

core_shape read_core(const place& p) {
  p.only({"window", "store_buffer", "load_cycles", "multiply_cycles", "divide_cycles", "float_add_cycles",
          "float_multiply_cycles", "fused_cycles", "float_divide_cycles", "locked_cycles", "pause_cycles",
          "fence_cycles", "system_call_cycles", "wake_ns"});
  const auto figure = [&](const char* key) {
    const place at = p[key];
    if (!at.at.is_number() || at.at.get<double>() < 0) fail(at.path, "a number, 0 or more", at.at.dump());
    return at.at.get<double>();
  };
  core_shape c;
  c.window = static_cast<unsigned>(p["window"].count(1, 4096));
  c.store_buffer = static_cast<unsigned>(p["store_buffer"].count(1, 4096));
  c.load = figure("load_cycles");
  c.multiply = figure("multiply_cycles");
  c.divide = figure("divide_cycles");
  c.float_add = figure("float_add_cycles");
  c.float_multiply = figure("float_multiply_cycles");
  c.fused = figure("fused_cycles");
  c.float_divide = figure("float_divide_cycles");
  c.locked = figure("locked_cycles");
  c.pause = figure("pause_cycles");
  c.fence = figure("fence_cycles");
  c.system_call = figure("system_call_cycles");
  c.wake_ns = figure("wake_ns");
  return c;
}

/// A square of figures, 0 or `null` where there is none: no CPUs or no memory to be asked, or nothing published.
matrix read_square(const place& p, std::size_t nodes) {
  matrix result(nodes, std::vector<double>(nodes, 0));
  if (p.size() != nodes) fail(p.path, std::to_string(nodes) + " rows", std::to_string(p.size()));
  for (std::size_t i = 0; i != nodes; ++i) {
    const place row = p[i];
    if (row.size() != nodes) fail(row.path, std::to_string(nodes) + " figures", std::to_string(row.size()));
    for (std::size_t j = 0; j != nodes; ++j) {
      if (!row[j].at.is_null() && row[j].at != 0) result[i][j] = row[j].positive();
    }
  }
  return result;
}

void read_cpus(machine& m, const place& p) {
  const std::size_t cpus = p["cpu_node"].size();
  if (cpus == 0) fail("cpu_node", "at least one CPU", "none");
  for (const char* key : {"cpu_core", "cpu_l3"}) {
    if (p[key].size() != cpus) fail(key, std::to_string(cpus) + " entries", std::to_string(p[key].size()));
  }
  for (std::size_t i = 0; i != cpus; ++i) {
    m.cpu_node.push_back(p["cpu_node"][i].index(m.nodes()));
    m.cpu_core.push_back(p["cpu_core"][i].index(cores_max));
    m.cpu_l3.push_back(p["cpu_l3"][i].index(m.shared.size()));
    if (m.shared[m.cpu_l3[i]].node != m.cpu_node[i]) {
      fail(p["cpu_l3"][i].path, "a cache of node " + std::to_string(m.cpu_node[i]), p["cpu_l3"][i].at.dump());
    }
    for (std::size_t j = 0; j != i; ++j) {
      if (m.cpu_core[j] == m.cpu_core[i] && m.cpu_l3[j] != m.cpu_l3[i]) {
        fail(p["cpu_core"][i].path, "one shared cache for all CPUs of a core", "two");
      }
    }
  }
}

void read_memory(machine& m, const place& p) {
  for (std::size_t i = 0; i != p.size(); ++i) {
    p[i].only({"node", "size_mib", "bandwidth_gbs"});
    m.memory.push_back(
        {p[i]["node"].index(m.nodes()), p[i]["size_mib"].count(1, 1U << 20), p[i]["bandwidth_gbs"].positive()});
    for (std::size_t j = 0; j != i; ++j) {
      if (m.memory[j].node == m.memory[i].node) fail(p[i].path, "one memory a node", "a second one");
    }
  }
  if (m.memory.empty()) fail(p.path, "at least one node with memory", "none");
}

void read_links(machine& m, const place& p) {
  for (std::size_t i = 0; i != p["links"].size(); ++i) m.link_gbs.push_back(p["links"][i]["gbs"].positive());
  const place routes = p["routes"];
  if (routes.size() != m.nodes()) fail("routes", std::to_string(m.nodes()) + " rows", std::to_string(routes.size()));
  m.routes.resize(m.nodes());
  for (std::size_t from = 0; from != m.nodes(); ++from) {
    if (routes[from].size() != m.nodes()) {
      fail(routes[from].path, std::to_string(m.nodes()) + " routes", std::to_string(routes[from].size()));
    }
    for (std::size_t to = 0; to != m.nodes(); ++to) {
      const place route = routes[from][to];
      auto& links = m.routes[from].emplace_back();
      for (std::size_t i = 0; i != route.size(); ++i) links.push_back(route[i].index(m.link_gbs.size()));
      if (from == to && !links.empty()) fail(route.path, "no link on the way to itself", route.at.dump());
    }
  }
}

/// Every CPU can reach every memory, and every cache that may have its line.
void check_latencies(const machine& m) {
  const std::set<unsigned> with_cpus(m.cpu_node.begin(), m.cpu_node.end());
  for (const unsigned node : with_cpus) {
    for (const auto& memory : m.memory) {
      if (m.dram_ns[node][memory.node] <= 0) {
        fail("dram_ns[" + std::to_string(node) + "][" + std::to_string(memory.node) + "]", "a latency", "none");
      }
    }
    for (const unsigned other : with_cpus) {
      if (m.cache_ns[node][other] <= 0) {
        fail("cache_ns[" + std::to_string(node) + "][" + std::to_string(other) + "]", "a latency", "none");
      }
    }
  }
}

}  // namespace

unsigned machine::cores() const { return 1 + *std::max_element(cpu_core.begin(), cpu_core.end()); }

machine parse_machine(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) throw machine_error("machine: expected JSON, found something else");
  const place p{document, ""};
  p.only({"name", "clock_ghz", "cpi", "overlap", "core", "line", "cache_scale", "cpu_node", "cpu_core", "cpu_l3",
          "private", "shared", "memory", "dram_ns", "cache_ns", "pair_gbs", "links", "routes", "assumed"});
  machine m;
  m.name = p["name"].text();
  m.clock_ghz = p["clock_ghz"].positive();
  m.cpi = p["cpi"].positive();
  m.overlap = static_cast<unsigned>(p["overlap"].count(1, 1024));
  if (document.contains("core")) m.core = read_core(p["core"]);
  static_cast<void>(p["line"].count(line_bytes, line_bytes));
  const std::size_t nodes = p["dram_ns"].size();
  if (nodes == 0 || nodes > nodes_max) {
    fail("dram_ns", "1 to " + std::to_string(nodes_max) + " nodes", std::to_string(nodes));
  }
  m.dram_ns = read_square(p["dram_ns"], nodes);
  m.cache_ns = read_square(p["cache_ns"], nodes);
  m.pair_gbs =
      p["pair_gbs"].at.is_null() ? matrix(nodes, std::vector<double>(nodes, 0)) : read_square(p["pair_gbs"], nodes);
  m.cache_scale = p["cache_scale"].positive();
  m.private_cache = read_cache(p["private"]);
  const place shared = p["shared"];
  if (shared.size() == 0 || shared.size() > shared_caches_max) {
    fail("shared", "1 to " + std::to_string(shared_caches_max) + " caches", std::to_string(shared.size()));
  }
  for (std::size_t i = 0; i != shared.size(); ++i) {
    m.shared.push_back({read_cache(shared[i]), shared[i]["node"].index(nodes), shared[i]["written_ns"].positive()});
  }
  read_cpus(m, p);
  read_memory(m, p["memory"]);
  read_links(m, p);
  for (std::size_t i = 0; i != p["assumed"].size(); ++i) m.assumed.push_back(p["assumed"][i].text());
  check_latencies(m);
  return m;
}

machine read_machine(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw machine_error("machine=" + file.string() + ": expected a readable file; `homing lab` writes it");
  try {
    return parse_machine(text.str());
  } catch (const machine_error& error) {
    throw machine_error(file.string() + ": " + error.what());
  }
}

}  // namespace homing::lab::model
