#include "memory/block_pool.hpp"

#include <homing/detail/fault.hpp>
#include <homing/placement.hpp>

#include <algorithm>
#include <bit>
#include <new>

#include "platform/sanitizer.hpp"

namespace homing::memory {

using platform::address;
using platform::address_range;

bool memory_budget::take(std::size_t bytes) noexcept {
  // relaxed: the number alone matters; the memory itself is handed over by the pools' locks.
  std::size_t taken = taken_.load(sync::relaxed);
  do {
    if (taken > most_ || bytes > most_ - taken) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes, sync::relaxed, sync::relaxed));
  std::size_t high = high_.load(sync::relaxed);
  while (high < taken + bytes && !high_.compare_exchange_weak(high, taken + bytes, sync::relaxed, sync::relaxed)) {
  }
  return true;
}

void memory_budget::give_back(std::size_t bytes) noexcept { taken_.fetch_sub(bytes, sync::relaxed); }  // as take()

// 64 KiB of an extent. Its memory is in a unit elsewhere; this is what the extent's head knows of it.
struct block_pool::unit : sync::list_hook<unit> {                        // in partial_
  enum class use : std::uint8_t { none, small, run } holds = use::none;  // `none` for all but the first unit of a run
  std::uint8_t size_class = 0;
  std::uint16_t units = 0;  // of a run
  std::uint32_t live = 0;   // blocks handed out
  std::uint32_t begun = 0;  // blocks that have been handed out at least once: those after them are untouched
  free_block* free = nullptr;

  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(unit_bytes / bytes_of_class(size_class));
  }
  [[nodiscard]] bool is_full() const noexcept { return free == nullptr && begun == capacity(); }
};

// At the start of the extent's first unit.
struct block_pool::extent : sync::list_hook<extent> {           // in open_ or full_
  static constexpr std::uint32_t all_free = ~std::uint32_t{1};  // all but the first unit

  extent(block_pool& of, address_range all) noexcept : pool(&of), range(all) {}

  block_pool* pool;
  address_range range;
  std::uint32_t free_units = all_free;  // a bit a unit
  unit units[units_in_extent];

  [[nodiscard]] std::byte* at(unsigned u) noexcept { return reinterpret_cast<std::byte*>(this) + u * unit_bytes; }
  [[nodiscard]] unsigned index_of(const unit& u) const noexcept { return static_cast<unsigned>(&u - units); }
};

// On the page before a large block.
struct block_pool::large_block : sync::list_hook<large_block> {  // in large_
  large_block(block_pool& of, address_range all, std::size_t asked_for) noexcept
      : pool(&of), range(all), bytes(asked_for) {}

  block_pool* pool;
  address_range range;  // this page and the block
  std::size_t bytes;    // as asked for
};

namespace {

constexpr std::uint32_t mask_of(unsigned first, unsigned units) noexcept { return ((1U << units) - 1U) << first; }
static_assert(units_in_extent == 32 && run_units_max < 32);

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept { return (bytes + to - 1) / to * to; }

[[noreturn]] void refuse(const char* message) noexcept {
  detail::programmers_error("memory_resource::deallocate", message);
}
constexpr const char* foreign = "the block is not this resource's, or was asked for with another size or alignment";

}  // namespace

// What a block is follows from what was asked for, as std::pmr says it again when the block comes back: no header.
block_pool::shape block_pool::shape_of(std::size_t bytes, std::size_t alignment) noexcept {
  if (const std::size_t c = class_of(bytes, alignment); c < size_class_count) return {tier::small, c, 0};
  if (bytes <= run_bytes_max && alignment <= unit_bytes) {
    return {tier::run, 0, static_cast<unsigned>(round_up(std::max<std::size_t>(bytes, 1), unit_bytes) / unit_bytes)};
  }
  return {tier::large, 0, 0};
}

block_pool::extent* block_pool::extent_of(void* block) noexcept {
  return reinterpret_cast<extent*>(reinterpret_cast<address>(block) & ~address{extent_bytes - 1});
}

block_pool::~block_pool() {
  for (auto* list : {&open_, &full_}) {
    while (extent* const e = list->pop_front()) {
      unmap(e);
    }
  }
  while (large_block* const head = large_.pop_front()) {
    const address_range range = head->range;
    platform::unpoison_memory(head, range.bytes());
    pages_.give_back(range);
    budget_.give_back(range.bytes());
  }
}

void block_pool::count(std::size_t bytes) noexcept {
  ++live_blocks_;
  live_bytes_ += bytes;
}

void* block_pool::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const shape s = shape_of(bytes, alignment);
  if (s.kind == tier::large) return allocate_large(bytes, alignment);
  for (;;) {
    {
      const std::lock_guard hold(lock_);
      if (void* const block = s.kind == tier::small ? take_small(s.size_class) : take_run(s.units)) {
        count(bytes);
        platform::unpoison_memory(block, bytes);
        return block;
      }
    }
    // Another thread may use up the new extent before we come to it; then there is one more.
    if (!add_extent()) return nullptr;
  }
}

void* block_pool::take_small(std::size_t size_class) noexcept {
  unit* u = partial_[size_class].first();
  if (u == nullptr) {
    u = claim(1);
    if (u == nullptr) return nullptr;
    u->holds = unit::use::small;
    u->size_class = static_cast<std::uint8_t>(size_class);
    partial_[size_class].push_front(*u);
  }
  void* block = u->free;
  if (block != nullptr) {
    platform::unpoison_memory(block, sizeof(free_block));
    u->free = u->free->next;
  } else {
    extent& in = *extent_of(u);
    block = in.at(in.index_of(*u)) + u->begun++ * bytes_of_class(size_class);
  }
  ++u->live;
  if (u->is_full()) partial_[size_class].remove(*u);
  return block;
}

void* block_pool::take_run(unsigned units) noexcept {
  unit* const u = claim(units);
  if (u == nullptr) return nullptr;
  u->holds = unit::use::run;
  u->units = static_cast<std::uint16_t>(units);
  u->live = 1;
  extent& in = *extent_of(u);
  return in.at(in.index_of(*u));
}

// The lowest free units of the first extent that has so many in a row.
block_pool::unit* block_pool::claim(unsigned units) noexcept {
  for (extent* r = open_.first(); r != nullptr; r = r->next) {
    std::uint32_t starts = r->free_units;
    for (unsigned u = 1; u < units; ++u) starts &= r->free_units >> u;
    if (starts == 0) continue;
    const auto first = static_cast<unsigned>(std::countr_zero(starts));
    if (r->free_units == extent::all_free) --empty_extents_;
    r->free_units &= ~mask_of(first, units);
    if (r->free_units == 0) {
      open_.remove(*r);
      full_.push_front(*r);
    }
    r->units[first] = unit{};
    return &r->units[first];
  }
  return nullptr;
}

void block_pool::deallocate(const void* owner, void* block, std::size_t bytes, std::size_t alignment) noexcept {
  const shape s = shape_of(bytes, alignment);
  if (s.kind == tier::large) {
    auto* const before = static_cast<std::byte*>(block) - page_bytes();
    auto& head = *std::launder(reinterpret_cast<large_block*>(before));
    if (head.pool->owner_ != owner || head.bytes != bytes) refuse(foreign);
    head.pool->deallocate_large(head);
    return;
  }
  extent& in = *extent_of(block);
  block_pool& pool = *in.pool;
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - reinterpret_cast<std::byte*>(&in));
  unit& u = in.units[offset / unit_bytes];
  extent* left = nullptr;
  {
    const std::lock_guard hold(pool.lock_);
    const bool is_right = s.kind == tier::small ? u.holds == unit::use::small && u.size_class == s.size_class
                                                : u.holds == unit::use::run && u.units == s.units;
    if (pool.owner_ != owner || !is_right || u.live == 0) refuse(foreign);
    left = s.kind == tier::small ? pool.put_small(in, u, block) : pool.release(in, in.index_of(u), s.units);
    --pool.live_blocks_;
    pool.live_bytes_ -= bytes;
  }
  if (left != nullptr) pool.unmap(left);
}

block_pool::extent* block_pool::put_small(extent& in, unit& of, void* block) noexcept {
  const bool was_full = of.is_full();
  platform::unpoison_memory(block, sizeof(free_block));
  of.free = new (block) free_block{of.free};
  if (was_full) partial_[of.size_class].push_front(of);
  platform::poison_memory(block, bytes_of_class(of.size_class));
  if (--of.live > 0) return nullptr;
  partial_[of.size_class].remove(of);
  return release(in, in.index_of(of), 1);
}

block_pool::extent* block_pool::release(extent& in, unsigned first, unsigned units) noexcept {
  in.units[first] = unit{};
  platform::poison_memory(in.at(first), units * unit_bytes);
  if (in.free_units == 0) {
    full_.remove(in);
    open_.push_front(in);
  }
  in.free_units |= mask_of(first, units);
  if (in.free_units != extent::all_free) return nullptr;
  if (++empty_extents_ == 1) return nullptr;  // kept, so that one block to and fro does not cost a mapping each time
  --empty_extents_;
  open_.remove(in);
  return &in;
}

new_pages_result block_pool::take_pages(std::size_t front, std::size_t bytes, std::size_t alignment) noexcept {
  new_pages_result result;
  if (!budget_.take(front + bytes)) return result;
  result = pages_.take(front, bytes, alignment);
  if (result.range.bytes() == 0) budget_.give_back(front + bytes);
  const std::lock_guard hold(lock_);
  if (result.is_unplaced && result.range.bytes() > 0) unplaced_bytes_ += result.range.bytes();
  if (error_number_ == 0) error_number_ = result.error_number;
  return result;
}

bool block_pool::add_extent() noexcept {
  const new_pages_result got = take_pages(0, extent_bytes, extent_bytes);
  if (got.range.bytes() == 0) return false;
  auto* const r = new (reinterpret_cast<void*>(got.range.first)) extent(*this, got.range);
  const std::lock_guard hold(lock_);
  ++empty_extents_;
  open_.push_front(*r);
  return true;
}

void block_pool::unmap(extent* r) noexcept {
  const address_range range = r->range;
  platform::unpoison_memory(r, range.bytes());
  pages_.give_back(range);
  budget_.give_back(range.bytes());
}

void* block_pool::allocate_large(std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t page = page_bytes();
  const std::size_t grain = pages_.grain_bytes();
  if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) return nullptr;  // no sum below overflows
  const new_pages_result got = take_pages(page, round_up(bytes, grain), std::max(alignment, grain));
  if (got.range.bytes() == 0) return nullptr;
  auto* const head = new (reinterpret_cast<void*>(got.range.first)) large_block(*this, got.range, bytes);
  const std::lock_guard hold(lock_);
  large_.push_front(*head);
  count(bytes);
  return reinterpret_cast<std::byte*>(head) + page;
}

void block_pool::deallocate_large(large_block& head) noexcept {
  const address_range range = head.range;
  {
    const std::lock_guard hold(lock_);
    large_.remove(head);
    --live_blocks_;
    live_bytes_ -= head.bytes;
  }
  pages_.give_back(range);
  budget_.give_back(range.bytes());
}

void block_pool::add_to(memory_usage& sum) const noexcept {
  const std::lock_guard hold(lock_);
  sum.live_blocks += live_blocks_;
  sum.live_bytes += live_bytes_;
  sum.unplaced_bytes += unplaced_bytes_;
  if (sum.error_number == 0) sum.error_number = error_number_;
}

}  // namespace homing::memory
