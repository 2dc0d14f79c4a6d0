#include "hot_watch.hpp"

#include <nlohmann/json.hpp>

namespace homing::lab::model {
namespace {

using json = nlohmann::ordered_json;

json site_document(const line_site& s, const time_scale& scale) {
  return {{"pc", s.instruction}, {"offset", s.offset}, {"bytes", s.bytes},
          {"loads", s.loads},    {"stores", s.stores}, {"atomics", s.atomics},
          {"moves", s.moves},    {"far", s.far_moves}, {"wait_ns", scale.to_ns(s.waited)}};
}

json line_document(const line_sum& line, const machine& m, const time_scale& scale) {
  json o = {{"address", line.name.virtual_line * line_bytes},
            {"physical", line.name.physical_line * line_bytes},
            {"moves", line.moves},
            {"far", line.far_moves},
            {"wait_ns", scale.to_ns(line.waited)},
            {"cpus", json::array()}};
  for (const auto& [cpu, use] : line.by_cpu) {
    json c = {{"cpu", cpu},
              {"node", m.cpu_node[cpu]},
              {"moves", use.moves},
              {"far", use.far_moves},
              {"others", use.others},
              {"wait_ns", scale.to_ns(use.waited)},
              {"sites", json::array()}};
    for (const line_site& s : use.sites) c["sites"].push_back(site_document(s, scale));
    o["cpus"].push_back(std::move(c));
  }
  return o;
}

}  // namespace

std::string hot_watch::document(const machine& m, const time_scale& scale) const {
  const line_sums sums = lines.sums(lines_written_max);
  const hot_code::code_sums ran = code.sums();
  json o = {{"schema", 1},
            {"machine", m.name},
            {"cpi", m.cpi},
            {"clock_ghz", m.clock_ghz},
            {"line_bytes", line_bytes},
            {"lines_moved", sums.lines},
            {"moves", sums.moves},
            {"far", sums.far_moves},
            {"kernel_moves", sums.kernel_moves},
            {"forgotten_moves", sums.forgotten_moves},
            {"lines", json::array()},
            {"kernel", {{"instructions", ran.kernel.instructions}, {"ns", scale.to_ns(ran.kernel.time)}}},
            {"blocks", json::array()}};
  for (const line_sum& line : sums.most) o["lines"].push_back(line_document(line, m, scale));
  for (const hot_code::block_sum& b : ran.program) {
    o["blocks"].push_back({b.address, b.instructions, scale.to_ns(b.time)});
  }
  const std::lock_guard guard(lock_);
  o["notes"] = notes_;
  // A note may have bytes that are no UTF-8, as paths may.
  return o.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace homing::lab::model
