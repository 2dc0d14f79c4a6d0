/// The counted block behind a shared_table: the count, then the values.
#include <homing/detail/shared_table.hpp>

#include <memory>
#include <new>

#include "sync/atomic.hpp"

namespace homing::detail {
namespace {

using owner_count = sync::atomic<std::uint64_t>;
static_assert(sizeof(owner_count) == sizeof(std::uint64_t));

owner_count& count_of(const std::uint64_t* values) noexcept {
  return *std::launder(reinterpret_cast<owner_count*>(const_cast<std::uint64_t*>(values) - 1));
}

}  // namespace

const std::uint64_t* make_table(std::span<const std::uint64_t> values) {
  void* const block = ::operator new((values.size() + 1) * sizeof(std::uint64_t));
  ::new (block) owner_count(1);
  auto* const first = static_cast<std::uint64_t*>(block) + 1;
  std::uninitialized_copy(values.begin(), values.end(), first);
  return first;
}

// relaxed: the caller owns a reference, which keeps the block alive.
void retain_table(const std::uint64_t* values) noexcept { count_of(values).fetch_add(1, sync::relaxed); }

void release_table(const std::uint64_t* values) noexcept {
  // acq_rel: every owner's reads come before the last one's freeing; partner: itself.
  if (count_of(values).fetch_sub(1, sync::acq_rel) == 1) {
    ::operator delete(const_cast<std::uint64_t*>(values) - 1);
  }
}

}  // namespace homing::detail
