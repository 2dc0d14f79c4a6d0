#include "memory/page_locations.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

namespace homing::memory {
namespace {

using platform::address;
using platform::address_range;
using platform::mapping;

constexpr std::size_t batch_pages = 4096;
constexpr std::size_t marked_max = 4096;  // mappings that exist for a moment

struct question {
  platform::page_calls& calls;
  address_range range;
  std::vector<mapping> mappings;
  std::span<const int> owner;

  [[nodiscard]] std::size_t page_of(address a) const { return (a - range.first) / calls.page_bytes(); }
  // The pages of a mapping that are in the range.
  [[nodiscard]] address_range overlap(const mapping& m) const {
    return {std::max(range.first, m.range.first), std::min(range.last, m.range.last)};
  }
};

// False if the kernel refuses.
bool ask_kernel(const question& q, std::vector<int>& node) {
  std::vector<address> pages;
  std::vector<int> status;
  for (std::size_t first = 0; first < node.size(); first += pages.size()) {
    pages.clear();
    for (std::size_t p = first; p < std::min(node.size(), first + batch_pages); ++p) {
      pages.push_back(q.range.first + p * q.calls.page_bytes());
    }
    status.assign(pages.size(), -EIO);
    if (q.calls.query_pages(pages, status) != 0) return false;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      // ENOENT of newer kernels and EFAULT of older ones (and of the zero page) both mean "nothing there yet".
      const bool nothing = status[i] == -ENOENT || status[i] == -EFAULT;
      if (node[first + i] == page_locations::hole) continue;
      node[first + i] = status[i] >= 0 ? status[i] : nothing ? page_locations::untouched : page_locations::unknown;
    }
  }
  return true;
}

// From the totals of one mapping to its pages in the range.
void label(const question& q, const mapping& m, const platform::numa_mapping& totals, page_locations& result) {
  std::vector<int>& node = result.node;
  const std::size_t page_bytes = q.calls.page_bytes();
  const address_range mine = q.overlap(m);
  const std::size_t first = q.page_of(mine.first);
  const std::size_t last = q.page_of(mine.last);
  const auto fill = [&](int value) { std::fill(&node[first], &node[0] + last, value); };
  if (totals.bytes_on.empty()) {
    fill(page_locations::untouched);
    return;
  }
  std::size_t present = 0;
  for (const auto& [on, bytes] : totals.bytes_on) present += bytes / page_bytes;
  const bool one_node = totals.bytes_on.size() == 1;
  const int the_node = to_number(totals.bytes_on.front().first);
  if (one_node && present * page_bytes == m.range.bytes()) {
    fill(the_node);
    return;
  }
  const auto contents = q.calls.contents(m.range);
  const std::size_t offset = (mine.first - m.range.first) / page_bytes;
  const auto has_contents = [&](std::size_t p) { return !contents || (*contents)[offset + p - first]; };
  const bool tells_which =
      one_node && contents && static_cast<std::size_t>(std::count(contents->begin(), contents->end(), true)) == present;
  if (tells_which) {
    for (std::size_t p = first; p < last; ++p) node[p] = has_contents(p) ? the_node : page_locations::untouched;
    return;
  }
  const bool is_whole = mine == m.range && std::all_of(&q.owner[first], &q.owner[0] + last,
                                                       [&](int owner) { return owner == q.owner[first]; });
  if (!is_whole) {
    for (std::size_t p = first; p < last; ++p) {
      node[p] = has_contents(p) ? page_locations::unknown : page_locations::untouched;
    }
    return;
  }
  auto on = totals.bytes_on.begin();
  std::size_t left = on->second / page_bytes;
  for (std::size_t p = first; p < last; ++p) {
    while (left == 0 && on != totals.bytes_on.end() && ++on != totals.bytes_on.end()) left = on->second / page_bytes;
    const bool is_there = has_contents(p) && left > 0;
    node[p] = is_there ? to_number(on->first) : page_locations::untouched;
    left -= is_there;
  }
  result.in_any_order.resize(node.size(), false);
  std::fill(result.in_any_order.begin() + static_cast<std::ptrdiff_t>(first),
            result.in_any_order.begin() + static_cast<std::ptrdiff_t>(last), true);
}

const platform::numa_mapping* find(const std::vector<platform::numa_mapping>& listing, address first) {
  const auto at = std::find_if(listing.begin(), listing.end(), [&](const auto& n) { return n.first == first; });
  return at == listing.end() ? nullptr : &*at;
}

// Of a mapping that is on several nodes and has several owners, or a part outside the range: its stretches of one
// owner, counted one by one. Each is a mapping of its own while it is marked, because its neighbours are not; so the
// even ones are marked first, then the odd ones.
void count_by_owner(const question& q, const mapping& m, page_locations& result) {
  std::vector<mapping> stretches;
  const address_range mine = q.overlap(m);
  for (address at = mine.first; at < mine.last; at += q.calls.page_bytes()) {
    const std::size_t p = q.page_of(at);
    if (at == mine.first || q.owner[p] != q.owner[p - 1]) {
      stretches.push_back(m);
      stretches.back().range.first = at;
    }
    stretches.back().range.last = at + q.calls.page_bytes();
  }
  if (!m.may_mark || stretches.size() > marked_max) return;
  for (const std::size_t parity : {0U, 1U}) {
    bool all_marked = true;
    for (std::size_t s = parity; s < stretches.size(); s += 2) {
      all_marked = q.calls.mark(stretches[s].range, true) == 0 && all_marked;
    }
    if (all_marked) {
      const auto listing = q.calls.numa_maps(q.range);
      for (std::size_t s = parity; listing && s < stretches.size(); s += 2) {
        if (const auto* found = find(*listing, stretches[s].range.first)) label(q, stretches[s], *found, result);
      }
    }
    // Undone also where it failed half-way: unmarking what is not marked does nothing.
    for (std::size_t s = parity; s < stretches.size(); s += 2) {
      static_cast<void>(q.calls.mark(stretches[s].range, false));
    }
  }
}

void ask_numa_maps(const question& q, page_locations& result) {
  const auto listing = q.calls.numa_maps(q.range);
  if (!listing) return;
  for (const mapping& m : q.mappings) {
    const auto* found = find(*listing, m.range.first);
    if (found == nullptr) continue;
    label(q, m, *found, result);
    const auto* first = &result.node[q.page_of(q.overlap(m).first)];
    const auto* last = &result.node[0] + q.page_of(q.overlap(m).last);
    if (std::find(first, last, page_locations::unknown) != last) count_by_owner(q, m, result);
  }
}

}  // namespace

page_locations locate(platform::page_calls& calls, address_range range, const std::vector<mapping>& mappings,
                      std::span<const int> owner) {
  page_locations result;
  if (range.bytes() == 0) return result;
  question q{calls, range, mappings, owner};
  result.node.assign(range.bytes() / calls.page_bytes(), page_locations::hole);
  for (const mapping& m : mappings) {
    const address_range mine = q.overlap(m);
    std::fill(&result.node[q.page_of(mine.first)], &result.node[0] + q.page_of(mine.last), page_locations::unknown);
  }
  if (ask_kernel(q, result.node)) return result;
  result.source = page_source::numa_maps;
  q.mappings = calls.mappings(range);  // policies have split them meanwhile
  ask_numa_maps(q, result);
  return result;
}

}  // namespace homing::memory
