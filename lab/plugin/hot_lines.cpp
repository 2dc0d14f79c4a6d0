#include "hot_lines.hpp"

#include <algorithm>
#include <mutex>

namespace homing::lab::model {
namespace {

constexpr unsigned line_bits = 6;
constexpr bool of_kernel(std::uint64_t address) { return (address >> 63) != 0; }

void add_to(line_use& sum, const line_use& more) {
  sum.moves += more.moves;
  sum.far_moves += more.far_moves;
  sum.others += more.others;
  sum.waited += more.waited;
  sum.sites.insert(sum.sites.end(), more.sites.begin(), more.sites.end());
}

}  // namespace

void hot_lines::note(unsigned cpu, const seen_access& a) {
  cpu_part& part = cpus_[cpu];
  const std::uint64_t line = a.address >> line_bits;
  recent_line& recent = part.recent[line % recent_max];
  if (a.moved == movement::none) {
    if (recent.virtual_line != line) return;
    const std::lock_guard guard(part.lock);
    return add(*recent.use, a);
  }
  const std::lock_guard guard(part.lock);
  if (of_kernel(a.address)) {
    ++part.kernel_moves;
    return;
  }
  const line_name name{line, a.physical_line};
  auto at = part.uses.find(name);
  if (at == part.uses.end()) {
    if (part.uses.size() >= lines_max_) make_room(part);
    at = part.uses.try_emplace(name).first;
  }
  recent = {line, &at->second};
  add(at->second, a);
}

void hot_lines::add(line_use& use, const seen_access& a) {
  const bool moved = a.moved != movement::none, far = a.moved == movement::between_nodes;
  use.moves += moved ? 1 : 0;
  use.far_moves += far ? 1 : 0;
  use.waited += a.waited;
  const auto offset = static_cast<std::uint8_t>(a.address & ((1U << line_bits) - 1));
  auto site = std::find_if(use.sites.begin(), use.sites.end(),
                           [&](const line_site& s) { return s.instruction == a.instruction && s.offset == offset; });
  if (site == use.sites.end()) {
    if (use.sites.size() == sites_max) {
      ++use.others;
      return;
    }
    site = use.sites.insert(site, line_site{.instruction = a.instruction, .offset = offset});
  }
  site->bytes = std::max(site->bytes, static_cast<std::uint8_t>(std::min(a.bytes, 64U - offset)));
  ++(a.kind == access_kind::atomic ? site->atomics : a.kind == access_kind::store ? site->stores : site->loads);
  site->moves += moved ? 1 : 0;
  site->far_moves += far ? 1 : 0;
  site->waited += a.waited;
}

/// Forgets the half of the lines that moved least.
void hot_lines::make_room(cpu_part& part) const {
  std::vector<std::uint64_t> moves;
  moves.reserve(part.uses.size());
  for (const auto& [name, use] : part.uses) moves.push_back(use.moves);
  const std::size_t half = (moves.size() + 1) / 2;
  const auto last = moves.begin() + static_cast<std::ptrdiff_t>(half - 1);
  std::nth_element(moves.begin(), last, moves.end());
  // Of those that moved as often as the last one to go, only so many.
  auto as_many = 1 + std::count(moves.begin(), last, *last);
  std::erase_if(part.uses, [&](const auto& entry) {
    if (entry.second.moves > *last || (entry.second.moves == *last && as_many-- <= 0)) return false;
    part.forgotten_moves += entry.second.moves;
    return true;
  });
  part.recent.fill({});
}

line_sums hot_lines::sums(std::size_t lines) const {
  std::map<line_name, line_sum> all;
  line_sums result;
  for (unsigned cpu = 0; cpu != cpus_.size(); ++cpu) {
    const cpu_part& part = cpus_[cpu];
    const std::lock_guard guard(part.lock);
    result.kernel_moves += part.kernel_moves;
    result.forgotten_moves += part.forgotten_moves;
    for (const auto& [name, use] : part.uses) {
      line_sum& sum = all[name];
      sum.name = name;
      sum.moves += use.moves;
      sum.far_moves += use.far_moves;
      sum.waited += use.waited;
      add_to(sum.by_cpu[cpu], use);
    }
  }
  result.lines = all.size();
  for (auto& [name, sum] : all) {
    result.moves += sum.moves;
    result.far_moves += sum.far_moves;
    result.most.push_back(std::move(sum));
  }
  // The address decides between equals, so that the order is the same each time.
  std::sort(result.most.begin(), result.most.end(), [](const line_sum& a, const line_sum& b) {
    return a.moves != b.moves ? a.moves > b.moves : a.name < b.name;
  });
  if (result.most.size() > lines) result.most.resize(lines);
  return result;
}

}  // namespace homing::lab::model
