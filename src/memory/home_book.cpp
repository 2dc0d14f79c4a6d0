#include "memory/home_book.hpp"

#include <algorithm>

namespace homing::memory {

using platform::address;
using platform::address_range;

void home_book::write(address first, std::size_t page_bytes, std::span<const int> node) {
  const std::lock_guard hold(lock_);
  for (std::size_t p = 0; p < node.size();) {
    std::size_t end = p + 1;
    while (end < node.size() && node[end] == node[p]) ++end;
    if (node[p] >= 0) nodes_.assign({first + p * page_bytes, first + end * page_bytes}, node[p]);
    p = end;
  }
}

void home_book::forget(address_range range) {
  const std::lock_guard hold(lock_);
  nodes_.erase(range);
}

std::vector<int> home_book::read(address_range range, std::size_t page_bytes) const {
  std::vector<int> node(range.bytes() / page_bytes, not_written);
  const std::lock_guard hold(lock_);
  for (auto at = nodes_.find(range.first); at != nodes_.end() && at->first < range.last; ++at) {
    const address first = std::max(at->first, range.first);
    const address last = std::min(at->second.last, range.last);
    std::fill(node.begin() + static_cast<std::ptrdiff_t>((first - range.first) / page_bytes),
              node.begin() + static_cast<std::ptrdiff_t>((last - range.first) / page_bytes), at->second.value);
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
