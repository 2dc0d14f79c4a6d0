#include "measure/report_parts.hpp"

#include <fmt/format.h>
#include <homing/version.hpp>

#include <algorithm>

#include "measure/units.hpp"

namespace homing::measure {

using nlohmann::ordered_json;

std::string range_text(const spread& s) {
  if (s.median <= 0) return "";
  const auto percent = [&](double value) { return (value / s.median - 1) * 100; };
  return fmt::format("({:+.1f}% {:+.1f}%)", percent(s.min), percent(s.max));
}

std::string spread_text(const spread& s) { return fmt::format("{:.1f} {}", s.median, range_text(s)); }

ordered_json spread_json(const spread& s) {
  return {{"median", s.median}, {"min", s.min}, {"q1", s.q1}, {"q3", s.q3}, {"max", s.max}, {"samples", s.samples}};
}

ordered_json memory_json(const memory_fact& fact) {
  ordered_json out{{"placed", fact.is_placed()},
                   {"bytes", fact.bytes},
                   {"bytes_at_home", fact.at_home},
                   {"huge_page_bytes", fact.huge},
                   {"base_page_bytes", fact.page_bytes}};
  out["why_not_placed"] = fact.is_placed() ? ordered_json(nullptr) : ordered_json(fact.why_not);
  return out;
}

std::string memory_csv_header() { return "placed,bytes,bytes_at_home,huge_page_bytes"; }
std::string memory_csv(const memory_fact& fact) {
  return fmt::format("{},{},{},{}", fact.is_placed() ? 1 : 0, fact.bytes, fact.at_home, fact.huge);
}
std::string spread_csv_header() { return "median,min,q1,q3,max,runs"; }
std::string spread_csv(const spread& s) {
  return fmt::format("{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{}", s.median, s.min, s.q1, s.q3, s.max, s.samples.size());
}

std::string pages_text(const memory_fact& all, page_wish wish) {
  const std::string base = "pages of " + size_text(all.page_bytes);
  const std::string got = all.huge == 0           ? base
                          : all.huge >= all.bytes ? "huge pages"
                                                  : fmt::format("huge pages for {} of {}, the rest in {}",
                                                                size_text(all.huge), size_text(all.bytes), base);
  if (wish == page_wish::huge && all.huge < all.bytes) return got + ", though huge pages were asked for";
  return got;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "note: " + note + '\n';
  return text;
}

std::vector<std::string> cpu_node_names(const plan& p) {
  std::vector<std::string> names;
  for (const cpu_node& c : p.cpu_nodes) names.push_back(std::to_string(to_number(c.id)));
  return names;
}

std::vector<std::string> memory_node_names(const plan& p) {
  std::vector<std::string> names;
  for (const memory_node& m : p.memory_nodes) {
    names.push_back(std::to_string(to_number(m.id)) + (m.is_tier ? " (tier)" : ""));
  }
  return names;
}

ordered_json heading_json(const char* command, const char* unit, const plan& p, const machine_card& machine,
                          unsigned repeat, page_wish pages) {
  ordered_json cpus = ordered_json::array();
  for (const cpu_node& c : p.cpu_nodes) {
    ordered_json ids = ordered_json::array();
    for (const cpu_id cpu : c.cpus) ids.push_back(to_number(cpu));
    cpus.push_back({{"node", to_number(c.id)},
                    {"threads", c.cpus.size()},
                    {"real_cpus", ids},
                    {"cache_bytes", c.cache_bytes == 0 ? ordered_json(nullptr) : ordered_json(c.cache_bytes)},
                    {"local_memory_node", to_number(p.memory(c.local).id)}});
  }
  ordered_json memories = ordered_json::array();
  for (const memory_node& m : p.memory_nodes) {
    memories.push_back({{"node", to_number(m.id)},
                        {"tier", m.is_tier},
                        {"available_bytes", m.available ? ordered_json(*m.available) : ordered_json(nullptr)}});
  }
  return {{"homing", version()},
          {"command", command},
          {"virtual", machine.is_virtual},
          {"machine", machine.json()},
          {"unit", unit},
          {"repeat", repeat},
          {"pages_asked", name_of(pages)},
          {"cpu_nodes", cpus},
          {"memory_nodes", memories},
          {"notes", p.notes}};
}

std::string unplaced_text(const std::vector<std::string>& labels, const std::vector<memory_fact>& facts) {
  // Labels with the same reason share a line.
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].is_placed()) continue;
    auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == facts[i].why_not; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {facts[i].why_not, {}});
    found->second.push_back(labels[i]);
  }
  std::string text;
  for (const auto& [reason, who] : reasons) {
    const std::string more = who.size() > 1 ? fmt::format(" and {} more", who.size() - 1) : "";
    text += fmt::format("* not placed ({}{}): {}\n", who.front(), more, reason);
  }
  return text;
}

}  // namespace homing::measure
