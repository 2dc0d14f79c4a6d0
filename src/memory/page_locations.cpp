#include "memory/page_locations.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "platform/fork.hpp"

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
  platform::mapping_list mappings;
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
  const auto at = std::lower_bound(listing.begin(), listing.end(), first,
                                   [](const auto& n, address wanted) { return n.first < wanted; });
  return at == listing.end() || at->first != first ? nullptr : &*at;
}

// Marks split mappings, and marked ranges that touch are one mapping, also those of two threads: so one thread at a
// time reads the listing, and none while the process forks.
std::mutex one_reads;
const platform::fork_part reading_over_fork(
    platform::fork_layer::memory, [] { one_reads.lock(); }, [] { one_reads.unlock(); }, [] { one_reads.unlock(); });

// Ranges marked as long as this lives; also where that failed half-way or something is thrown: unmarking what is not
// marked does nothing.
class marked {
 public:
  marked(platform::page_calls& calls, std::vector<address_range> ranges) : calls_(calls), ranges_(std::move(ranges)) {
    for (const address_range& r : ranges_) all_marked_ = calls_.mark(r, true) == 0 && all_marked_;
  }
  marked(const marked&) = delete;
  marked& operator=(const marked&) = delete;
  ~marked() {
    for (const address_range& r : ranges_) static_cast<void>(calls_.mark(r, false));
  }
  [[nodiscard]] bool all_marked() const { return all_marked_; }

 private:
  platform::page_calls& calls_;
  const std::vector<address_range> ranges_;
  bool all_marked_ = true;
};

// Of a mapping that is on several nodes and has several owners, or a part outside the range: its stretches of one
// owner, to be counted one by one.
void set_apart(const question& q, const mapping& m, std::vector<mapping>& stretches) {
  if (!m.may_mark) return;
  const std::size_t before = stretches.size();
  const address_range mine = q.overlap(m);
  for (address at = mine.first; at < mine.last; at += q.calls.page_bytes()) {
    const std::size_t p = q.page_of(at);
    if (at == mine.first || q.owner[p] != q.owner[p - 1]) {
      stretches.push_back(m);
      stretches.back().range.first = at;
    }
    stretches.back().range.last = at + q.calls.page_bytes();
  }
  if (stretches.size() - before > marked_max) stretches.resize(before);
}

// Each stretch is a mapping of its own while it is marked, because its neighbours are not; so the even ones are marked
// first, then the odd ones.
void count_by_owner(const question& q, std::span<const mapping> stretches, page_locations& result) {
  for (const std::size_t parity : {0U, 1U}) {
    if (stretches.size() <= parity) return;
    std::vector<address_range> every_second;
    for (std::size_t s = parity; s < stretches.size(); s += 2) every_second.push_back(stretches[s].range);
    const marked apart(q.calls, std::move(every_second));
    if (!apart.all_marked()) continue;
    const auto listing = q.calls.numa_maps(q.range);
    for (std::size_t s = parity; listing && s < stretches.size(); s += 2) {
      if (const auto* found = find(*listing, stretches[s].range.first)) label(q, stretches[s], *found, result);
    }
  }
}

void ask_numa_maps(const question& q, page_locations& result) {
  const auto listing = q.calls.numa_maps(q.range);
  if (!listing) return;
  std::vector<mapping> stretches;
  for (const mapping& m : q.mappings.all) {
    const auto* found = find(*listing, m.range.first);
    if (found == nullptr) continue;
    label(q, m, *found, result);
    const auto* first = &result.node[q.page_of(q.overlap(m).first)];
    const auto* last = &result.node[0] + q.page_of(q.overlap(m).last);
    if (std::find(first, last, page_locations::unknown) != last) set_apart(q, m, stretches);
  }
  for (std::size_t s = 0; s < stretches.size(); s += marked_max) {
    count_by_owner(q, std::span(stretches).subspan(s, std::min(marked_max, stretches.size() - s)), result);
  }
}

using bytes_of_nodes = std::vector<std::pair<node_id, std::size_t>>;

// Of a whole mapping, or part of one; nothing if the listing does not show it as one of its own.
std::optional<bytes_of_nodes> count_apart(platform::page_calls& calls, address_range range) {
  const std::lock_guard alone(one_reads);
  const marked apart(calls, {range});
  if (!apart.all_marked()) return std::nullopt;
  const auto found = calls.numa_mapping_at(range.first);
  return found ? std::optional(found->bytes_on) : std::nullopt;
}

// Pages of one mapping that have contents, of which the query says that they are not there.
struct hidden_pages {
  address_range where;  // the part of the mapping that is in the range
  bool is_part, may_mark;
  std::vector<std::size_t> pages;
};

hidden_pages look_for_hidden(const question& q, const mapping& m, const std::vector<int>& node) {
  const address_range mine = q.overlap(m);
  hidden_pages result{mine, mine != m.range, m.may_mark, {}};
  const std::size_t first = q.page_of(mine.first), last = q.page_of(mine.last);
  if (std::count(&node[first], &node[0] + last, page_locations::untouched) == 0) return result;
  const auto contents = q.calls.contents(mine);
  for (std::size_t p = first; contents && p < last; ++p) {
    if (node[p] == page_locations::untouched && (*contents)[p - first]) result.pages.push_back(p);
  }
  return result;
}

// The node of all of them, or that they are nowhere, if the kernel's count leaves no other choice.
int node_of(const question& q, const hidden_pages& hidden, const platform::numa_mapping& counted,
            const std::vector<int>& node) {
  const int* const first = &node[q.page_of(hidden.where.first)];
  const int* const last = &node[0] + q.page_of(hidden.where.last);
  int result = page_locations::untouched;  // nothing beyond the known ones: zero pages, or swapped out
  for (const auto& [on, bytes] : counted.bytes_on) {
    const std::size_t present = bytes / q.calls.page_bytes();
    const auto known = static_cast<std::size_t>(std::count(first, last, to_number(on)));
    if (present == known) continue;
    const bool is_all = result == page_locations::untouched && present == known + hidden.pages.size();
    result = is_all ? to_number(on) : page_locations::unknown;
  }
  return result;
}

// NUMA balancing takes pages' access away for a while, to see who wants them. Linux 6.1 then answers the query as
// if they were not there. pagemap has them, and the zero page, too; numa_maps counts them, and not the zero page. Parts
// of mappings, at most the first and the last, are made mappings of their own for a moment.
void find_watched(const question& q, page_locations& result) {
  if (!q.mappings.is_read()) {
    std::replace(result.node.begin(), result.node.end(), page_locations::untouched, page_locations::unknown);
  }
  std::vector<hidden_pages> all;
  for (const mapping& m : q.mappings.all) {
    all.push_back(look_for_hidden(q, m, result.node));
    if (all.back().pages.empty()) all.pop_back();
  }
  if (all.empty()) return;
  std::vector<address_range> parts;
  for (const hidden_pages& h : all) {
    if (h.is_part && h.may_mark) parts.push_back(h.where);
  }
  const marked apart(q.calls, std::move(parts));
  const auto listing = apart.all_marked() ? q.calls.numa_maps(q.range) : std::nullopt;
  for (const hidden_pages& h : all) {
    const auto* const counted = listing && (!h.is_part || h.may_mark) ? find(*listing, h.where.first) : nullptr;
    const int node = counted == nullptr ? page_locations::unknown : node_of(q, h, *counted, result.node);
    for (const std::size_t p : h.pages) result.node[p] = node;
  }
}

// Pages that are in memory, and of which the query says that they are not there.
void find_resident(const question& q, address_range part, page_locations& result) {
  const std::size_t first = q.page_of(part.first), last = q.page_of(part.last);
  if (std::count(&result.node[first], &result.node[0] + last, page_locations::untouched) == 0) return;
  const auto resident = q.calls.resident(part);
  for (std::size_t p = first; resident && p < last; ++p) {
    if (result.node[p] == page_locations::untouched && (*resident)[p - first]) result.node[p] = page_locations::unknown;
  }
}

// Pages of shared memory that another process, a system call or another mapping has made: they are in memory, and no
// page table of this process has them, so that neither the query nor numa_maps knows them. All of the range may be
// shared memory if its mappings could not be read.
void find_unmapped(const question& q, page_locations& result) {
  for (const mapping& m : q.mappings.all) {
    if (m.shared && m.writable) find_resident(q, q.overlap(m), result);  // of others' files mincore tells nothing
  }
  if (!q.mappings.is_read()) find_resident(q, q.range, result);
}

}  // namespace

page_locations locate(platform::page_calls& calls, address_range range, const platform::mapping_list& mappings,
                      std::span<const int> owner) {
  page_locations result;
  if (range.bytes() == 0) return result;
  question q{calls, range, mappings, owner};
  result.node.assign(range.bytes() / calls.page_bytes(),
                     mappings.is_read() ? page_locations::hole : page_locations::unknown);
  for (const mapping& m : mappings.all) {
    const address_range mine = q.overlap(m);
    std::fill(&result.node[q.page_of(mine.first)], &result.node[0] + q.page_of(mine.last), page_locations::unknown);
  }
  if (ask_kernel(q, result.node)) {
    if (calls.balances()) {
      const std::lock_guard alone(one_reads);
      q.mappings = calls.mappings(range);  // policies have split them meanwhile
      find_watched(q, result);
    }
    find_unmapped(q, result);
    return result;
  }
  result.source = page_source::numa_maps;
  const std::lock_guard alone(one_reads);
  q.mappings = calls.mappings(range);  // policies have split them meanwhile
  ask_numa_maps(q, result);
  find_unmapped(q, result);
  return result;
}

std::optional<bool> all_on(platform::page_calls& calls, address_range range, const platform::node_set& nodes) {
  std::vector<int> node(range.bytes() / calls.page_bytes(), page_locations::unknown);
  const bool is_told = ask_kernel({calls, range, {}, {}}, node);
  const bool may_be_hidden = std::count(node.begin(), node.end(), page_locations::untouched) != 0 && calls.balances();
  if (is_told && !may_be_hidden) {
    return std::all_of(node.begin(), node.end(), [&](int n) { return n >= 0 && nodes.contains(node_id{n}); });
  }
  const auto on = count_apart(calls, range);
  std::size_t bytes = 0;
  if (on) {
    for (const auto& [where, count] : *on) bytes += count;
  }
  // More than the range has: a neighbour bears the same mark, and the line is of both.
  if (!on || bytes > range.bytes()) return std::nullopt;
  return bytes == range.bytes() &&
         std::all_of(on->begin(), on->end(), [&](const auto& part) { return nodes.contains(part.first); });
}

}  // namespace homing::memory
