#include "common/pages.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

namespace homing::cli {
namespace {

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The kernel writes space, tab, newline, '=' and '\' in a name as three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 3 < text.size() ? number(text.substr(i + 1, 3), 8) : std::nullopt;
    if (code && *code < 256) {
      out += static_cast<char>(*code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Memory that has a name like a file's: memfd_create, POSIX and System V shared memory, shared anonymous mappings.
bool is_memory_name(std::string_view name) {
  for (const std::string_view start : {"/memfd:", "/dev/shm/", "/SYSV", "/dev/zero"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

struct line_facts {
  page_group group;
  std::string policy;
};

std::optional<line_facts> read_line(std::string_view line) {
  line_facts facts;
  if (!number(take_word(line), 16)) return std::nullopt;
  facts.policy = take_word(line);
  if (facts.policy.empty()) return std::nullopt;
  facts.group.kind = "anonymous";
  facts.group.mappings = 1;
  bool is_huge = false;
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    const std::size_t sign = word.find('=');
    const std::string_view key = word.substr(0, sign);
    const std::string_view value = sign == std::string_view::npos ? "" : word.substr(sign + 1);
    if (key == "file") {
      facts.group.name = unescaped(value);
      facts.group.kind = is_memory_name(facts.group.name) ? "shared memory" : "file";
    } else if (key == "heap" || key == "stack") {
      facts.group.kind = key;
    } else if (key == "huge") {
      is_huge = true;
    } else if (key == "kernelpagesize_kB") {
      facts.group.page_bytes = number(value).value_or(4) * 1024;
    } else if (key.starts_with('N')) {
      const auto node = number(key.substr(1));
      const auto pages = number(value);
      if (node && pages && *node < 1U << 20U) facts.group.on[static_cast<int>(*node)] += *pages;
    }
  }
  if (is_huge) facts.group.kind = "huge pages";
  for (auto& [node, amount] : facts.group.on) amount *= facts.group.page_bytes;  // the size stands after the counts
  return facts;
}

}  // namespace

std::uint64_t sum(const bytes_by_node& bytes) noexcept {
  std::uint64_t total = 0;
  for (const auto& [node, amount] : bytes) total += amount;
  return total;
}

page_census count_pages(std::string_view numa_maps) {
  page_census census;
  std::map<std::tuple<std::string, std::string, std::uint64_t>, page_group> groups;
  while (!numa_maps.empty()) {
    const std::string_view line = numa_maps.substr(0, numa_maps.find('\n'));
    numa_maps.remove_prefix(std::min(line.size() + 1, numa_maps.size()));
    const auto facts = read_line(line);
    if (!facts) continue;
    const page_group& one = facts->group;
    page_group& all = groups[{one.kind, one.name, one.page_bytes}];
    const std::uint64_t mappings = all.mappings + 1;
    bytes_by_node on = std::move(all.on);
    for (const auto& [node, amount] : one.on) {
      on[node] += amount;
      census.total[node] += amount;
    }
    all = one;
    all.on = std::move(on);
    all.mappings = mappings;
    census.policies[facts->policy] += sum(one.on);
  }
  for (auto& [key, group] : groups) census.groups.push_back(std::move(group));
  std::stable_sort(census.groups.begin(), census.groups.end(),
                   [](const page_group& a, const page_group& b) { return sum(a.on) > sum(b.on); });
  return census;
}

}  // namespace homing::cli
