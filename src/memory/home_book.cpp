#include "memory/home_book.hpp"

#include <algorithm>

namespace homing::memory {

using platform::address;
using platform::address_range;

void home_book::erase(address_range range) {
  auto at = entries_.lower_bound(range.first);
  if (at != entries_.begin()) {
    const auto before = std::prev(at);
    const entry old = before->second;
    if (old.last > range.first) {
      before->second.last = range.first;
      if (old.last > range.last) entries_.emplace(range.last, old);
    }
  }
  while (at != entries_.end() && at->first < range.last) {
    const entry old = at->second;
    at = entries_.erase(at);
    if (old.last > range.last) at = entries_.emplace(range.last, old).first;
  }
}

void home_book::write(address first, std::size_t page_bytes, std::span<const int> node) {
  const std::lock_guard hold(lock_);
  for (std::size_t p = 0; p < node.size();) {
    std::size_t end = p + 1;
    while (end < node.size() && node[end] == node[p]) ++end;
    if (node[p] >= 0) {
      const address_range run{first + p * page_bytes, first + end * page_bytes};
      erase(run);
      entries_.emplace(run.first, entry{run.last, node[p]});
    }
    p = end;
  }
}

void home_book::forget(address_range range) {
  const std::lock_guard hold(lock_);
  erase(range);
}

std::vector<int> home_book::read(address_range range, std::size_t page_bytes) const {
  std::vector<int> node(range.bytes() / page_bytes, not_written);
  const std::lock_guard hold(lock_);
  auto at = entries_.upper_bound(range.first);
  if (at != entries_.begin()) --at;
  for (; at != entries_.end() && at->first < range.last; ++at) {
    if (at->second.last <= range.first) continue;
    const address first = std::max(at->first, range.first);
    const address last = std::min(at->second.last, range.last);
    std::fill(node.begin() + static_cast<std::ptrdiff_t>((first - range.first) / page_bytes),
              node.begin() + static_cast<std::ptrdiff_t>((last - range.first) / page_bytes), at->second.node);
  }
  return node;
}

const platform::fork_part home_book::over_fork_(
    platform::fork_layer::memory, [] { process_home_book().lock_.lock(); }, [] { process_home_book().lock_.unlock(); },
    [] { process_home_book().lock_.unlock(); });

home_book& process_home_book() {
  static home_book* const book = new home_book;  // never destroyed: ranges may outlive static objects
  return *book;
}

}  // namespace homing::memory
