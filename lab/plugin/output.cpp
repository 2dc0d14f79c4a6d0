#include "output.hpp"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "instruction_set.hpp"

namespace homing::lab::model {
namespace {

using json = nlohmann::ordered_json;

// What the model does not see; the page of the design says more on each.
const char* const not_seen[] = {
    "instruction fetches and page-table walks (code and page tables are taken to be in a cache)",
    "data that a hardware prefetcher fetched and nobody used",
    "devices' own accesses (DMA)",
    "the cache nearest to the core apart from the next, but for its latency (one private cache stands for both)",
    "contention inside a core (units, ports, its other thread) and of requests and acknowledgements on links",
    "branches that are guessed wrong",
    "interrupts of CPUs that are not idle (they take no virtual time)",
    "the part of an access beyond its first cache line",
};

json row(const count_row& counts, unsigned first, unsigned size) {
  json list = json::array();
  for (unsigned i = 0; i != size; ++i) list.push_back(counts[first + i]);
  return list;
}

/// Sums of one kind of figure, [node of the CPU][node].
json by_node(const machine& m, const std::vector<count_row>& rows, unsigned first) {
  std::vector<count_row> sums(m.nodes(), count_row(m.nodes(), 0));
  for (unsigned cpu = 0; cpu != m.cpus(); ++cpu) {
    for (unsigned n = 0; n != m.nodes(); ++n) sums[m.cpu_node[cpu]][n] += rows[cpu][first + n];
  }
  json list = json::array();
  for (const count_row& sum : sums) list.push_back(row(sum, 0, m.nodes()));
  return list;
}

json sources_of(const count_layout& at, const count_row& counts) {
  json o;
  const char* const names[sources] = {"private", "local_cache", "remote_cache", "local_dram", "remote_dram"};
  for (unsigned i = 0; i != sources; ++i) o[names[i]] = counts[at.at(static_cast<source>(i))];
  return o;
}

/// The figures of the program or of the kernel: all CPUs together, and by nodes.
json sums_of(const machine& m, const count_layout& at, const std::vector<count_row>& rows) {
  count_row sum(at.size(), 0);
  for (const count_row& r : rows) {
    for (unsigned i = 0; i != at.size(); ++i) sum[i] += r[i];
  }
  json o;
  o["instructions"] = sum[at.at(figure::instructions)];
  o["loads"] = sum[at.at(figure::loads)];
  o["stores"] = sum[at.at(figure::stores)];
  o.update(sources_of(at, sum));
  o["upgrades"] = sum[at.at(figure::upgrades)];
  o["write_backs"] = sum[at.at(figure::write_backs)];
  o["overlapped"] = sum[at.at(figure::overlapped)];
  o["unplaced"] = sum[at.at(figure::unplaced)];
  o["matrix"] = {{"dram", by_node(m, rows, at.dram(0))},
                 {"cache", by_node(m, rows, at.cache(0))},
                 {"local_cache", by_node(m, rows, at.local_cache(0))}};
  return o;
}

json region_document(const machine& m, const memory_system& model, const region_total& r) {
  const count_layout& at = model.layout();
  std::vector<count_row> program, kernel;
  for (const cpu_share& share : r.cpus) {
    program.push_back(share.program);
    kernel.push_back(share.kernel);
  }
  json o;
  o["label"] = r.label;
  o["entries"] = r.entries;
  o["virtual_ns"] = model.scale().to_ns(r.virtual_time);
  o.update(sums_of(m, at, program));
  o["cpus"] = json::array();
  for (unsigned cpu = 0; cpu != m.cpus(); ++cpu) {
    json c;
    c["cpu"] = cpu;
    c["node"] = m.cpu_node[cpu];
    c["instructions"] = program[cpu][at.at(figure::instructions)];
    c.update(sources_of(at, program[cpu]));
    c["virtual_ns"] = model.scale().to_ns(r.cpus[cpu].busy);
    o["cpus"].push_back(std::move(c));
  }
  count_row lines(at.links(), 0);
  for (unsigned link = 0; link != at.links(); ++link) {
    for (unsigned cpu = 0; cpu != m.cpus(); ++cpu) {
      lines[link] += (program[cpu][at.link_lines(link)] + kernel[cpu][at.link_lines(link)]) * line_bytes;
    }
  }
  o["bytes_by_link"] = row(lines, 0, at.links());
  o["waits"] = r.waits;
  o["waits_given_up"] = r.given_up;
  o["kernel"] = sums_of(m, at, kernel);
  return o;
}

}  // namespace

std::string counts_document(const machine& m, const precision& p, const calibration& c, const memory_map& map,
                            const memory_system* model, const std::vector<region_total>& regions,
                            std::uint64_t regions_left_out) {
  json o;
  o["schema"] = 1;
  o["machine"] = m.name;
  o["precision"] = {{"quantum_cycles", p.quantum_cycles}, {"look_cycles", p.look() / ticks_per_cycle}};
  o["calibrated"] = c.done;
  o["calibration"] = {{"error", c.error},
                      {"pages_learnt", c.pages_learnt},
                      {"pages_checked", c.pages_checked},
                      {"layout", map.layout()},
                      {"nodes", json::array()}};
  for (const memory_map::block& b : map.blocks()) {
    o["calibration"]["nodes"].push_back(
        {{"node", b.node}, {"linux_node", b.linux_node}, {"first", b.first}, {"end", b.end}, {"pages", b.pages}});
  }
  o["architecture"] = guest_instructions().target;
  o["notSeen"] = not_seen;
  for (const char* const more : guest_instructions().not_seen) o["notSeen"].push_back(more);
  o["assumed"] = m.assumed;
  o["regionsLeftOut"] = regions_left_out;
  o["regions"] = json::array();
  if (model != nullptr) {
    for (const region_total& r : regions) o["regions"].push_back(region_document(m, *model, r));
  }
  return o.dump(1) + "\n";
}

std::string write_counts(const std::filesystem::path& file, const std::string& document) {
  std::filesystem::path beside = file;
  beside += ".part";
  std::ofstream out(beside);
  out << document;
  out.close();
  if (!out) return "out=" + file.string() + ": can't write " + beside.string() + ": " + std::strerror(errno);
  std::error_code error;
  std::filesystem::rename(beside, file, error);
  return error ? "out=" + file.string() + ": " + error.message() : "";
}

}  // namespace homing::lab::model
