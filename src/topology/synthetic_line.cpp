#include "topology/synthetic_line.hpp"

#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace homing::topology {
namespace {

constexpr std::string_view spaces = " \t\n\v\f\r";

hwloc_obj_type_t type_named(std::string_view name) {
  hwloc_obj_type_t type = HWLOC_OBJ_TYPE_MAX;
  if (hwloc_type_sscanf(std::string(name).c_str(), &type, nullptr, 0) != 0) return HWLOC_OBJ_TYPE_MAX;
  return type;
}

// Types of the levels in a part of a line. Groups, of which there may be several kinds, are left out.
std::vector<hwloc_obj_type_t> levels_in(std::string_view part) {
  std::vector<hwloc_obj_type_t> types;
  for (std::size_t at = 0; at < part.size();) {
    if (part[at] == '(' || part[at] == '[') {
      at = std::min(part.find(part[at] == '(' ? ')' : ']', at), part.size() - 1) + 1;
      continue;
    }
    const std::size_t colon = part.find_first_of(":([", at);
    if (colon == std::string_view::npos) break;
    if (part[colon] == ':') {
      const std::size_t name = std::min(part.find_first_not_of("0123456789 \t\n\v\f\r", at), colon);
      const hwloc_obj_type_t type = type_named(part.substr(name, colon - name));
      if (type != HWLOC_OBJ_TYPE_MAX && type != HWLOC_OBJ_GROUP) types.push_back(type);
    }
    at = part[colon] == ':' ? colon + 1 : colon;
  }
  return types;
}

// Whether a part of a line has nothing but attributes and attached nodes.
bool has_no_level(std::string_view part) {
  for (std::size_t at = 0; (at = part.find_first_not_of(spaces, at)) != std::string_view::npos;) {
    if (part[at] != '(' && part[at] != '[' && part[at] != ']') return false;
    at = part[at] == ']' ? at + 1 : std::min(part.find(part[at] == '(' ? ')' : ']', at), part.size() - 1) + 1;
  }
  return true;
}

bool are_among(std::string_view names, const std::vector<hwloc_obj_type_t>& levels) {
  for (std::size_t first = 0; first <= names.size();) {
    const std::size_t last = std::min(names.find(':', first), names.size());
    if (std::find(levels.begin(), levels.end(), type_named(names.substr(first, last - first))) == levels.end()) {
      return false;
    }
    first = last + 1;
  }
  return true;
}

// hwloc would make sets as long as the highest number, and passes over a list that it doesn't understand.
std::string number_list_problem(std::string_view list) {
  const char* next = list.data();
  const char* const end = next + list.size();
  while (next != end) {
    unsigned long number = 0;
    const auto [stopped, error] = std::from_chars(next, end, number);
    if (error == std::errc::invalid_argument || (stopped != end && *stopped != ',')) {
      return "indexes=" + std::string(list) + ": expected decimal numbers with commas between";
    }
    if (error != std::errc() || number > index_max) {
      return "an index is too high: expected 0 to " + std::to_string(index_max);
    }
    next = stopped == end ? end : stopped + 1;
  }
  return "";
}

}  // namespace

synthetic_counts count_synthetic(const std::string& text) {
  unsigned long product = 1;
  unsigned long attached = 0;
  const char* at = text.c_str();
  const auto go_behind = [&at](char c) {
    const char* const found = std::strchr(at, c);
    at = found == nullptr ? at + std::strlen(at) : found + 1;
  };
  while (*at != '\0') {
    if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {  // hwloc takes a newline, too; others only look like one
      ++at;
    } else if (*at == '(' || *at == '[') {
      if (*at == '[') attached = std::min(attached + product, node_count_max + 1);
      go_behind(*at == '(' ? ')' : ']');
    } else {
      if (*at < '0' || *at > '9') go_behind(':');
      char* behind = nullptr;
      const unsigned long count = std::strtoul(at, &behind, 0);
      if (behind == at) break;  // hwloc refuses it
      product = std::min(product * std::min(count, synthetic_cpus_max + 1), synthetic_cpus_max + 1);
      at = behind;
    }
  }
  return {product, attached};
}

// Lists of steps (2*4) are left to hwloc. So are lists of levels, for CPUs; elsewhere hwloc 2.9 ends the program by an
// assertion if they name a level of more objects than have the list, so there they name levels before it only.
std::string index_list_problem(std::string_view text) {
  constexpr std::string_view key = "indexes=";
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    const std::string_view before = text.substr(0, at);
    at += key.size();
    const std::string_view list = text.substr(at, std::min(text.find_first_of(") ", at), text.size()) - at);
    if (list.empty() || list.find('*') != std::string_view::npos) continue;
    if (list.front() >= '0' && list.front() <= '9') {
      if (auto problem = number_list_problem(list); !problem.empty()) return problem;
    } else if (!has_no_level(text.substr(std::min(text.find(')', at), text.size() - 1) + 1)) &&
               !are_among(list, levels_in(before))) {
      return "indexes=" + std::string(list) + ": expected levels before it, or decimal numbers with commas between";
    }
  }
  return "";
}

}  // namespace homing::topology
