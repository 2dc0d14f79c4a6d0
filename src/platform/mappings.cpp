#include "platform/mappings.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace homing::platform {
namespace {

template <class T>
bool take(std::string_view& text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view take_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// "7f00-7f10 rw-p 00000000 fe:00 247278    /a/file"
std::optional<mapping> parse_head(std::string_view text) {
  mapping m;
  if (!take(text, m.range.first, 16) || !take(text, '-') || !take(text, m.range.last, 16)) return std::nullopt;
  const std::string_view rights = take_word(text);
  if (rights.size() < 4) return std::nullopt;
  m.readable = rights[0] == 'r';
  m.writable = rights[1] == 'w';
  m.shared = rights[3] == 's';
  for (int skipped = 0; skipped < 3; ++skipped) take_word(text);  // offset, device, inode
  const std::size_t name = text.find_first_not_of(' ');
  if (name != std::string_view::npos) m.name = text.substr(name);
  return m;
}

// "Field:      12 kB", in bytes
void read_field(std::string_view line, std::string_view field, std::size_t& bytes) {
  if (!line.starts_with(field)) return;
  line.remove_prefix(field.size());
  std::string_view number = take_word(line);
  std::size_t kib = 0;
  if (take(number, kib, 10)) bytes = kib * 1024;
}

// Not left out of core dumps (dd), and nothing for which that can't be undone: fixed size (de), I/O memory (io, pf).
bool has_no_special_flag(std::string_view flags) {
  for (std::string_view word = take_word(flags); !word.empty(); word = take_word(flags)) {
    if (word == "dd" || word == "de" || word == "io" || word == "pf") return false;
  }
  return true;
}

}  // namespace

bool mapping::is_file() const noexcept {
  constexpr std::string_view memory_names[] = {"/memfd:", "/dev/shm/", "/SYSV", "/dev/zero", "/anon_hugepage"};
  if (name.empty() || name.front() != '/') return false;
  return std::none_of(std::begin(memory_names), std::end(memory_names),
                      [&](std::string_view start) { return name.starts_with(start); });
}

bool mapping::is_private_anonymous() const noexcept {
  const bool no_file = name.empty() || name == "[heap]" || name.starts_with("[stack") || name.starts_with("[anon:");
  return !shared && no_file;
}

std::vector<mapping> parse_smaps(const line_source& next_line, address_range wanted) {
  std::vector<mapping> result;
  bool inside = false;  // the fields that follow belong to result.back()
  for (std::string line; next_line(line);) {
    // A field begins with a capital letter, a mapping with its address in lower-case digits.
    if (!line.empty() && line.front() >= 'A' && line.front() <= 'Z') {
      if (!inside) continue;
      std::size_t huge = 0;
      read_field(line, "KernelPageSize:", result.back().page_bytes);
      read_field(line, "AnonHugePages:", huge);
      read_field(line, "ShmemPmdMapped:", huge);
      read_field(line, "Locked:", result.back().locked_bytes);
      result.back().huge_bytes += huge;
      if (line.starts_with("VmFlags:")) result.back().may_mark = has_no_special_flag(line);
      continue;
    }
    auto head = parse_head(line);
    inside = head && head->range.first < wanted.last && head->range.last > wanted.first;
    if (head && head->range.first >= wanted.last) break;  // they ascend
    if (inside) result.push_back(std::move(*head));
  }
  return result;
}

std::vector<numa_mapping> parse_numa_maps(const line_source& next_line, address last) {
  std::vector<numa_mapping> result;
  for (std::string line; next_line(line);) {
    std::string_view text = line;
    numa_mapping m;
    if (!take(text, m.first, 16)) continue;
    if (m.first >= last) break;
    std::size_t page_bytes = 4096;
    for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
      constexpr std::string_view page_size = "kernelpagesize_kB=";
      int node = -1;
      std::size_t count = 0;
      if (word.starts_with(page_size)) {
        word.remove_prefix(page_size.size());
        if (take(word, count, 10)) page_bytes = count * 1024;
      } else if (take(word, 'N') && take(word, node, 10) && take(word, '=') && take(word, count, 10)) {
        m.bytes_on.emplace_back(static_cast<node_id>(node), count);
      }
    }
    for (auto& [node, pages] : m.bytes_on) pages *= page_bytes;  // it is said after the counts
    result.push_back(std::move(m));
  }
  return result;
}

}  // namespace homing::platform
