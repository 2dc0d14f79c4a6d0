#include "topology/xml_sets.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "platform/files.hpp"
#include "topology/facts.hpp"

namespace homing::topology {
namespace {

constexpr std::string_view spaces = " \t\r\n";

// An opening tag: its name and its attributes. Values are as they stand there: sets and types need no escapes.
struct tag {
  std::string_view name;
  std::map<std::string_view, std::string_view> attributes;
};

// The opening tags of a file, one after the other.
class tag_reader {
 public:
  explicit tag_reader(std::string_view text) : left_(text) {}

  // Nothing behind the last; or at what is no XML, and so hwloc's to refuse.
  std::optional<tag> next() {
    for (;;) {
      if (!go_behind("<")) return std::nullopt;
      if (left_.starts_with("!--")) {
        if (!go_behind("-->")) return std::nullopt;
      } else if (!left_.starts_with('!') && !left_.starts_with('?') && !left_.starts_with('/')) {
        return read_tag();
      }
    }
  }

 private:
  bool go_behind(std::string_view mark) {
    const std::size_t at = left_.find(mark);
    left_.remove_prefix(at == std::string_view::npos ? left_.size() : at + mark.size());
    return at != std::string_view::npos;
  }
  std::string_view take_until(std::string_view ends) {
    const std::string_view taken = left_.substr(0, left_.find_first_of(ends));
    left_.remove_prefix(taken.size());
    return taken;
  }
  void skip_spaces() { left_.remove_prefix(std::min(left_.find_first_not_of(spaces), left_.size())); }

  std::optional<tag> read_tag() {
    tag result{take_until(" \t\r\n/>"), {}};
    for (;;) {
      skip_spaces();
      if (left_.empty()) return std::nullopt;
      if (left_.front() == '>' || left_.front() == '/') return result;
      const std::string_view name = take_until(" \t\r\n=");
      if (!go_behind("=")) return std::nullopt;
      skip_spaces();
      const char quote = left_.empty() ? ' ' : left_.front();
      if (quote != '"' && quote != '\'') return std::nullopt;
      left_.remove_prefix(1);
      const std::string_view value = take_until({&quote, 1});
      if (left_.empty()) return std::nullopt;
      left_.remove_prefix(1);
      result.attributes.emplace(name, value);
    }
  }

  std::string_view left_;
};

struct bitmap_freer {
  void operator()(hwloc_bitmap_s* b) const noexcept { hwloc_bitmap_free(b); }
};

// Of an object that has to have sets: its type. Devices, and what somebody has noted, may be without.
std::optional<hwloc_obj_type_t> type_with_sets(std::string_view name) {
  hwloc_obj_type_t type = HWLOC_OBJ_MISC;
  const bool is_known = hwloc_type_sscanf(std::string(name).c_str(), &type, nullptr, 0) == 0;
  if (!is_known || type == HWLOC_OBJ_MISC || hwloc_obj_type_is_io(type) != 0) return std::nullopt;
  return type;
}

}  // namespace

std::string xml_sets_problem(const std::string& path) {
  constexpr std::array<std::string_view, 4> names = {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"};
  const auto text = platform::read_file(path, xml_bytes_max);
  if (!text) return "";
  const std::unique_ptr<hwloc_bitmap_s, bitmap_freer> set(hwloc_bitmap_alloc());
  if (set == nullptr) throw std::bad_alloc();
  // Files of hwloc 1 have sets of nodes only where there are nodes, and hwloc 2 adds them.
  std::size_t wanted = 2;
  tag_reader tags(*text);
  while (const auto t = tags.next()) {
    const auto value = [&](std::string_view name) {
      const auto at = t->attributes.find(name);
      return at == t->attributes.end() ? std::string_view() : at->second;
    };
    if (t->name == "topology" && value("version").starts_with('2')) wanted = names.size();
    const auto type = t->name == "object" ? type_with_sets(value("type")) : std::nullopt;
    for (std::size_t n = 0; type && n < wanted; ++n) {
      const std::string written(value(names[n]));
      if (!written.empty() && hwloc_bitmap_sscanf(set.get(), written.c_str()) == 0) continue;
      return std::string("a ") + hwloc_obj_type_string(*type) + " has no valid " + std::string(names[n]);
    }
  }
  return "";
}

}  // namespace homing::topology
