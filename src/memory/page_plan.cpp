#include "memory/page_plan.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>

namespace homing::memory {
namespace {

using platform::address;
using platform::address_range;

constexpr address round_down(address a, std::size_t unit) noexcept { return a - a % unit; }

// The home of most bytes of a stretch of the range, taken in ascending order.
class home_cursor {
 public:
  home_cursor(const detail::run_source& runs, std::size_t elements, std::size_t element_bytes)
      : runs_(runs), elements_(elements), element_bytes_(element_bytes) {}

  struct answer {
    int home;
    bool is_mixed;
  };
  // Bytes first..last-1 of the range, not before those of the last question.
  answer home_of(std::size_t first, std::size_t last) {
    while (end_ <= first) next();
    if (last <= end_) return {home_, false};
    shares_.clear();
    for (std::size_t at = first; at < last; at = std::min(end_, last)) {
      while (end_ <= at) next();
      if (home_ != page_plan::no_home) add(std::min(end_, last) - at);
    }
    if (shares_.empty()) return {page_plan::no_home, false};
    const auto most = std::max_element(shares_.begin(), shares_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return {most->first, shares_.size() > 1};
  }

 private:
  void next() {
    const piece run = runs_.run(runs_.distribution, next_, elements_);
    // A number that no machine has stays one, and is never taken for one of the plan's signs.
    home_ = run.home ? static_cast<int>(std::min<std::uint32_t>(to_index(*run.home), INT_MAX)) : page_plan::no_home;
    next_ = run.last;
    end_ = next_ * element_bytes_;
  }
  void add(std::size_t bytes) {
    const auto known = std::find_if(shares_.begin(), shares_.end(), [&](const auto& s) { return s.first == home_; });
    if (known == shares_.end()) {
      shares_.emplace_back(home_, bytes);
    } else {
      known->second += bytes;
    }
  }

  const detail::run_source& runs_;
  const std::size_t elements_;
  const std::size_t element_bytes_;
  std::size_t next_ = 0;  // element after the current run
  std::size_t end_ = 0;   // byte after it
  int home_ = page_plan::no_home;
  std::vector<std::pair<int, std::size_t>> shares_;
};

}  // namespace

address_range pages_of(const memory_range& range, std::size_t page_bytes, const char* function) {
  const auto first = reinterpret_cast<address>(range.address());
  if (range.bytes() == 0) return {round_down(first, page_bytes), round_down(first, page_bytes)};
  detail::expects(range.address() != nullptr, function, "the range begins at null");
  detail::expects(first <= UINTPTR_MAX - page_bytes && range.bytes() <= UINTPTR_MAX - page_bytes - first, function,
                  "the range wraps around the end of the address space");
  return {round_down(first, page_bytes), round_down(first + range.bytes() + page_bytes - 1, page_bytes)};
}

std::vector<address_range> huge_units(platform::page_calls& calls, address_range pages,
                                      const std::vector<platform::mapping>& mappings) {
  std::vector<address_range> units;
  // Aligned units of `bytes` that overlap both the stretch and the pages.
  const auto cut = [&](address_range stretch, std::size_t bytes) {
    address at = std::max(stretch.first,
                          stretch.first + round_down(std::max(pages.first, stretch.first) - stretch.first, bytes));
    for (; at < stretch.last && at < pages.last; at += bytes) units.push_back({at, at + bytes});
  };
  const std::size_t huge = calls.huge_page_bytes();
  const std::size_t page = calls.page_bytes();
  // Stretches that may be huge pages: those without a page missing.
  const auto cut_full = [&](address_range asked) {
    const auto contents = calls.contents(asked);
    for (address at = asked.first; at < asked.last; at += huge) {
      const auto first = contents ? contents->begin() + static_cast<std::ptrdiff_t>((at - asked.first) / page)
                                  : std::vector<bool>::const_iterator();
      const bool is_full = !contents || std::find(first, first + static_cast<std::ptrdiff_t>(huge / page), false) ==
                                            first + static_cast<std::ptrdiff_t>(huge / page);
      if (is_full) cut({at, at + huge}, huge);
    }
  };
  for (const platform::mapping& m : mappings) {
    if (m.page_bytes > page) {
      cut(m.range, m.page_bytes);
    } else if (huge > page && m.huge_bytes > 0) {
      // From the first aligned address of the mapping to the last: a huge page never crosses a mapping's end.
      const address first = round_down(m.range.first + huge - 1, huge);
      const address last = round_down(m.range.last, huge);
      if (first >= last) continue;
      const address_range asked{std::max(first, round_down(pages.first, huge)),
                                std::min(last, round_down(pages.last + huge - 1, huge))};
      if (asked.first >= asked.last) continue;
      if (const auto known = calls.huge_ranges(asked)) {
        for (const address_range& r : *known) cut({round_down(r.first, huge), r.last}, huge);
      } else {
        cut_full(asked);
      }
    }
  }
  return units;
}

page_plan make_plan(const detail::run_source& runs, const memory_range& range, std::size_t element_bytes,
                    address_range pages, std::size_t page_bytes, const std::vector<address_range>& units) {
  page_plan plan;
  plan.first = pages.first;
  plan.page_bytes = page_bytes;
  plan.grain_bytes = pages.bytes() > 0 ? page_bytes : 0;
  plan.home.reserve(pages.bytes() / page_bytes);
  const auto begin = reinterpret_cast<address>(range.address());
  const address end = begin + range.bytes();
  home_cursor homes(runs, range.bytes() / element_bytes, element_bytes);
  auto next_unit = units.begin();
  for (address at = pages.first; at < pages.last;) {
    while (next_unit != units.end() && next_unit->last <= at) ++next_unit;
    address_range unit{at, at + page_bytes};
    if (next_unit != units.end() && next_unit->first <= at) unit = *next_unit;
    plan.grain_bytes = std::max(plan.grain_bytes, unit.bytes());
    home_cursor::answer answer{page_plan::edge, false};
    if (begin <= unit.first && unit.last <= end) answer = homes.home_of(unit.first - begin, unit.last - begin);
    const address stop = std::min(unit.last, pages.last);
    for (bool is_first = true; at < stop; at += page_bytes, is_first = false) {
      plan.home.push_back(answer.home);
      plan.begins_unit.push_back(is_first);
      plan.mixed += answer.is_mixed;
    }
  }
  return plan;
}

}  // namespace homing::memory
