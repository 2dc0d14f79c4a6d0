/// A kernel with several memory nodes, in a few lines: policies, moves and first touch over a range of address space.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "platform/page_calls.hpp"

namespace homing::testing {

using platform::address;
using platform::address_range;

class fake_kernel : public platform::page_calls {
 public:
  static constexpr int untouched = -1;
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t huge = 16 * page;  // small, so that tests can be

  struct page_state {
    int node = untouched;
    platform::policy_mode mode = platform::policy_mode::system_default;
    platform::node_set nodes{};
    int stuck = 0;  ///< errno that moving it gives
    int held = 0;   ///< moves that fail because somebody holds it for the moment
    bool hole = false;
    bool marked = false;
    bool watched = false;    ///< by NUMA balancing: there, and hidden from the query
    bool unmapped = false;   ///< of shared memory: made by somebody else, and in no page table of this process
    bool zero_page = false;  ///< was read only: has contents, and is nowhere
  };

  /// Of `count` pages, on an address that is aligned to `huge`. The memory is real, for copying.
  explicit fake_kernel(std::size_t count) : pages(count), size_((count + 16) * page + huge) {
    raw_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const auto start = reinterpret_cast<address>(raw_);
    first = (start + huge - 1) / huge * huge;
  }
  ~fake_kernel() override { ::munmap(raw_, size_); }

  // --- what a test sets and sees; nobody else is running then ---
  std::vector<page_state> pages;
  address first = 0;
  std::vector<std::size_t> huge_first;  ///< pages that begin a transparent huge page, multiples of 16
  bool tells_huge = true;
  platform::mapping kind{.range = {}, .readable = true, .writable = true, .may_mark = true};  ///< of the whole range
  int mbind_errno = 0;
  int move_errno = 0;  ///< of move_pages, query and move
  int populate_errno = 0;
  int drop_errno = 0;
  int bind_errno = 0;
  int mappings_errno = 0;
  bool balancing = false;
  bool populates_huge = false;            ///< huge pages where a whole one is populated
  std::optional<std::size_t> reads_left;  ///< of mappings(), until there is no memory for it
  std::optional<std::size_t> free_on_1;   ///< pages that node 1 still has
  std::size_t mapping_limit = 1 << 20;
  std::size_t mbind_calls = 0;
  std::size_t move_calls = 0;
  std::size_t moved_addresses = 0;
  std::size_t mappings_reads = 0;   ///< of smaps
  std::size_t numa_maps_reads = 0;  ///< of numa_maps
  std::vector<int> copied_by;       ///< nodes of the threads that restored

  [[nodiscard]] std::byte* bytes() const { return reinterpret_cast<std::byte*>(first); }
  [[nodiscard]] std::vector<int> nodes() const {
    std::vector<int> result;
    for (const page_state& p : pages) result.push_back(p.node);
    return result;
  }
  /// A thread of `here` touches pages.
  void touch(std::size_t from, std::size_t to, int here) {
    for (std::size_t p = from; p < to; ++p) {
      if (pages[p].node != untouched) continue;
      const std::vector<node_id> allowed = pages[p].nodes.ids();
      const bool interleaved = pages[p].mode == platform::policy_mode::interleave;
      pages[p].node = allowed.empty() ? here : to_number(allowed[interleaved ? (p + 1) % allowed.size() : 0]);
      if (pages[p].node == 1 && free_on_1) {
        if (*free_on_1 == 0) pages[p].node = 0;  // the nearest that has some
        if (*free_on_1 != 0) --*free_on_1;
      }
    }
  }

  // --- page_calls ---
  std::size_t page_bytes() const noexcept override { return page; }
  std::size_t huge_page_bytes() const noexcept override { return huge; }

  int set_policy(address_range range, platform::policy_mode mode, const platform::node_set& nodes,
                 platform::existing_pages existing) noexcept override {
    ++mbind_calls;
    if (mbind_errno != 0) return mbind_errno;
    for (std::size_t p = index(range.first); p < index(range.last); ++p) {
      if (pages[p].hole) return EFAULT;
      pages[p].mode = mode;
      pages[p].nodes = nodes;
      const bool moves = existing == platform::existing_pages::move && pages[p].node != untouched;
      if (moves && !nodes.contains(node_id{pages[p].node})) static_cast<void>(move_one(p, to_number(nodes.ids()[0])));
    }
    return mapping_count() > mapping_limit ? ENOMEM : 0;
  }

  int move_pages(std::span<const address> at, std::span<const node_id> to, std::span<int> status) noexcept override {
    ++move_calls;
    if (move_errno != 0) return move_errno;
    std::vector<std::size_t> run;  // places of neighbours with the same node, which go together
    const auto move_run = [&]() -> std::optional<int> {
      bool any_held = false;
      for (const std::size_t i : run) {
        const int answer = move_one(index(at[i]), to_number(to[i]));
        if (answer == -ENOMEM) return ENOMEM;
        any_held = any_held || answer == -EAGAIN;
      }
      if (any_held) return 0;  // a positive answer is no error
      for (const std::size_t i : run) status[i] = to_number(to[i]);
      run.clear();
      return std::nullopt;
    };
    for (std::size_t i = 0; i < at.size(); ++i) {
      ++moved_addresses;
      const page_state& p = pages[index(at[i])];
      const bool is_absent = p.node == untouched || p.watched || p.unmapped;
      const bool is_answered =
          is_absent || p.node == to_number(to[i]) || (p.stuck != 0 && p.stuck != ENOMEM && p.stuck != EAGAIN);
      if (is_answered) {
        status[i] = is_absent ? (i % 2 == 0 ? -ENOENT : -EFAULT) : p.node == to_number(to[i]) ? p.node : -p.stuck;
      } else {
        run.push_back(i);
      }
      const bool is_last = is_answered || i + 1 == at.size() || to[i + 1] != to[i];
      if (!is_last) continue;
      if (const auto ended = move_run()) return *ended;
    }
    return 0;
  }

  int query_pages(std::span<const address> at, std::span<int> status) noexcept override {
    if (move_errno != 0) return move_errno;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const page_state& p = pages[index(at[i])];
      const bool is_told = p.node != untouched && !p.watched && !p.unmapped;
      status[i] = is_told ? p.node : i % 2 == 0 ? -ENOENT : -EFAULT;  // newer and older kernels
    }
    return 0;
  }

  int populate(address_range range) noexcept override {
    if (populate_errno != 0) return populate_errno;
    for (std::size_t p = (index(range.first) + 15) / 16 * 16; populates_huge && p + 16 <= index(range.last); p += 16) {
      huge_first.push_back(p);
    }
    touch(index(range.first), index(range.last), here_);
    return 0;
  }
  int populate_read(address_range range) noexcept override {
    for (std::size_t p = index(range.first); p < index(range.last); ++p) pages[p].unmapped = false;
    return populate_errno;
  }
  int drop(address_range range) noexcept override {
    const std::lock_guard hold(lock_);
    if (drop_errno != 0) return drop_errno;
    for (std::size_t p = index(range.first); p < index(range.last); ++p) pages[p].node = untouched;
    std::memset(reinterpret_cast<void*>(range.first), 0, range.bytes());
    return 0;
  }
  void restore(address to, const std::byte* from, std::size_t count) noexcept override {
    const std::lock_guard hold(lock_);
    std::memcpy(reinterpret_cast<void*>(to), from, count);
    touch(index(to), index(to + count), here_);
    copied_by.push_back(here_);
  }
  int mark(address_range range, bool marked) noexcept override {
    for (std::size_t p = index(range.first); p < index(range.last); ++p) pages[p].marked = marked;
    return 0;
  }
  /// CPU n is of node n / 2.
  int bind_thread(const platform::cpu_set& cpus) noexcept override {
    if (bind_errno == 0) here_ = static_cast<int>(cpus.ids().front()) / 2;
    return bind_errno;
  }

  platform::mapping_list mappings(address_range range) override {
    ++mappings_reads;
    if (reads_left && (*reads_left)-- == 0) throw std::bad_alloc();
    if (mappings_errno != 0) return {{}, mappings_errno};
    platform::mapping_list result;
    for (const auto& [from, to] : stretches()) {
      platform::mapping m = kind;
      m.range = {first + from * page, first + to * page};
      m.huge_bytes = huge_first.empty() ? 0 : huge;
      if (m.range.first < range.last && m.range.last > range.first) result.all.push_back(m);
    }
    return result;
  }
  std::optional<std::vector<platform::numa_mapping>> numa_maps(address_range) override {
    ++numa_maps_reads;
    std::vector<platform::numa_mapping> result;
    for (const auto& [from, to] : stretches()) {
      platform::numa_mapping m{first + from * page, {}};
      for (int node = 0; node < 8; ++node) {
        const auto on = static_cast<std::size_t>(std::count_if(pages.begin() + static_cast<std::ptrdiff_t>(from),
                                                               pages.begin() + static_cast<std::ptrdiff_t>(to),
                                                               [&](const page_state& p) { return p.node == node; }));
        if (on > 0) m.bytes_on.emplace_back(node_id{node}, on * page);
      }
      result.push_back(m);
    }
    return result;
  }
  std::optional<platform::numa_mapping> numa_mapping_at(address at) override {
    const auto listing = numa_maps({});
    const auto found = std::find_if(listing->begin(), listing->end(), [&](const auto& m) { return m.first == at; });
    return found == listing->end() ? std::nullopt : std::optional(*found);
  }
  std::optional<std::vector<bool>> contents(address_range range) override {
    std::vector<bool> result;
    for (std::size_t p = index(range.first); p < index(range.last); ++p) {
      result.push_back((pages[p].node != untouched && !pages[p].unmapped) || pages[p].zero_page);
    }
    return result;
  }
  std::optional<std::vector<bool>> resident(address_range range) override {
    std::vector<bool> result;
    for (std::size_t p = index(range.first); p < index(range.last); ++p) result.push_back(pages[p].node != untouched);
    return result;
  }
  bool balances() override { return balancing; }
  std::optional<std::vector<address_range>> huge_ranges(address_range range) override {
    if (!tells_huge) return std::nullopt;
    std::vector<address_range> result;
    for (const std::size_t p : huge_first) {
      const address_range unit{first + p * page, first + p * page + huge};
      if (unit.first < range.last && unit.last > range.first) result.push_back(unit);
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t index(address a) const { return (a - first) / page; }

  // A page of a huge page takes all of it along.
  int move_one(std::size_t p, int node) {
    if (pages[p].node == node) return node;
    if (pages[p].stuck != 0) return -pages[p].stuck;
    if (pages[p].held != 0) {
      --pages[p].held;
      return -EAGAIN;
    }
    if (node == 1 && free_on_1 && (*free_on_1)-- == 0) {
      free_on_1 = 0;
      return -ENOMEM;
    }
    pages[p].node = node;
    pages[p].watched = false;  // moving makes them accessible
    for (const std::size_t unit : huge_first) {
      if (p < unit || p >= unit + 16) continue;
      for (std::size_t q = unit; q < std::min(unit + 16, pages.size()); ++q) pages[q].node = node;
    }
    return node;
  }
  // Mappings: neighbours with the same policy are one.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> stretches() const {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    for (std::size_t p = 0; p < pages.size(); ++p) {
      if (pages[p].hole) continue;
      const bool goes_on = p > 0 && !result.empty() && result.back().second == p &&
                           pages[p].mode == pages[p - 1].mode && pages[p].nodes == pages[p - 1].nodes &&
                           pages[p].marked == pages[p - 1].marked;
      if (goes_on) {
        ++result.back().second;
      } else {
        result.emplace_back(p, p + 1);
      }
    }
    return result;
  }
  [[nodiscard]] std::size_t mapping_count() const { return stretches().size(); }

  static inline thread_local int here_ = 0;
  std::mutex lock_;
  void* raw_ = nullptr;
  std::size_t size_;
};

}  // namespace homing::testing
