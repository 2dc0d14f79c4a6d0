/// Weights by bandwidth: firmware's figures, or those of a file that `homing bandwidth --csv` wrote.
#include <homing/domain_set.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "platform/files.hpp"

namespace homing {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{16} << 20;  // 256 nodes make 6 MiB

using pair_of_nodes = std::pair<int, int>;  // OS ids: of the CPUs, of the memory

struct figure {
  double mb_per_s;
  bool was_placed;
};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    fields.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return fields;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The figures of pairs of nodes in the file, found by the names of its columns.
class measured_pairs {
 public:
  // Returns false if the text is no such file.
  bool read(std::string_view text, std::string_view kernel) {
    bool is_first = true;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const auto fields = fields_of(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (is_first ? !read_names(fields) : !read_figure(fields, kernel)) return false;
      is_first = false;
    }
    return !is_first;
  }
  [[nodiscard]] const figure* find(pair_of_nodes pair) const {
    const auto at = figures_.find(pair);
    return at == figures_.end() ? nullptr : &at->second;
  }

 private:
  enum column { pattern, cpu_node, memory_node, kernel_name, unit, median, placed, right, column_count };

  bool read_names(const std::vector<std::string_view>& fields) {
    constexpr std::string_view names[] = {"pattern", "cpu_node", "memory_node", "kernel",
                                          "unit",    "median",   "placed",      "right"};
    static_assert(std::size(names) == column_count);
    width_ = fields.size();
    for (std::size_t c = 0; c < column_count; ++c) {
      const auto at = std::find(fields.begin(), fields.end(), names[c]);
      if (at == fields.end()) return false;
      place_[c] = static_cast<std::size_t>(at - fields.begin());
    }
    return true;
  }
  bool read_figure(const std::vector<std::string_view>& fields, std::string_view kernel) {
    if (fields.size() != width_) return false;
    if (fields[place_[pattern]] != "pair" || fields[place_[kernel_name]] != kernel) return true;
    const auto cpus = number<int>(fields[place_[cpu_node]]);
    const auto memory = number<int>(fields[place_[memory_node]]);
    const auto value = number<double>(fields[place_[median]]);
    const bool is_sound = cpus && memory && value && std::isfinite(*value) && *value > 0;
    if (!is_sound || fields[place_[unit]] != "MB/s" || fields[place_[right]] != "1") return false;
    figures_[{*cpus, *memory}] = {*value, fields[place_[placed]] == "1"};
    return true;
  }

  std::size_t width_ = 0;
  std::size_t place_[column_count] = {};
  std::map<pair_of_nodes, figure> figures_;
};

// How many members' memory is that of one member.
double sharers(const topology::snapshot& machine, const domain_set& over, std::uint32_t member) {
  double count = 0;
  for (std::uint32_t i = 0; i < over.size(); ++i) {
    count += machine.at(over[i]).memory_node == machine.at(over[member]).memory_node;
  }
  return count;
}

std::string nodes_text(pair_of_nodes pair) {
  return "the CPUs of node " + std::to_string(pair.first) + " on the memory of node " + std::to_string(pair.second);
}

}  // namespace

std::optional<weights> weights::by_reported_bandwidth(const topology::snapshot& machine, const domain_set& over) {
  std::vector<double> figures;
  for (std::uint32_t i = 0; i < over.size(); ++i) {
    const auto figure =
        machine.attribute(topology::memory_attribute::bandwidth_mib_per_s, over[i], machine.at(over[i]).memory_node);
    if (!figure || *figure == 0) return std::nullopt;
    figures.push_back(static_cast<double>(*figure) / sharers(machine, over, i));
  }
  return weights(figures);
}

weights_or_error weights::by_measured_bandwidth(const topology::snapshot& machine, const domain_set& over,
                                                const std::string& file, std::string_view kernel) {
  const auto refused = [&](const std::string& why) {
    return weights_or_error{{}, file + ": " + why + "; expected what `homing bandwidth --csv` writes on this machine"};
  };
  const auto text = platform::read_file(file, file_bytes_max);
  if (!text) return refused("can't be read, or has more than 16 MiB");
  measured_pairs pairs;
  if (!pairs.read(*text, kernel)) return refused("not a table of bandwidths");
  std::vector<double> figures;
  for (std::uint32_t i = 0; i < over.size(); ++i) {
    const topology::domain_info& d = machine.at(over[i]);
    const pair_of_nodes nodes{to_number(machine.at(d.node).id), to_number(machine.at(d.memory_node).id)};
    const figure* const found = pairs.find(nodes);
    if (found == nullptr) return refused("no figure of " + std::string(kernel) + " for " + nodes_text(nodes));
    if (!found->was_placed) return refused("the memory was elsewhere while " + nodes_text(nodes) + " were measured");
    figures.push_back(found->mb_per_s / sharers(machine, over, i));
  }
  return {weights(figures), {}};
}

}  // namespace homing
