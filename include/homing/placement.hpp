/// Where memory lives: making its pages live where a distribution says, and finding out where they do.
///
///   std::vector<double> x(n);
///   auto d = homing::block(n);
///   homing::placed_range placed = homing::enforce(d, x);      // moves what is there, sets the policy for what is not
///   if (!placed.report().complete()) std::puts(placed.report().describe().c_str());
///
/// What is placed is the page really in use (its *grain*): 4 KiB, 2 MiB where the kernel uses a transparent huge page,
/// more in hugetlbfs. Only grains that lie inside the range are placed; what the range shares with its neighbours at
/// its two ends stays where it is and is counted as `edge`. A grain with elements of several homes goes to the one with
/// most of its bytes (the first of equals) and is counted as `mixed`.
///
/// What can't be placed is said, never passed over: pages that other processes map as well, pages of read-only mappings
/// of files, pages that the kernel holds (locked for I/O), full nodes, and system calls that a sandbox refuses.
///
/// One memory node, tiers counted: there is nothing to choose. What places calls nothing, sets nothing and asks for no
/// home, unless a way is asked for (`means`). verify() and where() ask the kernel there, too: which pages are there?
/// A made-up machine: the homes are kept in a book, and every answer says is_virtual.
///
/// Threads: any, at the same time, on ranges that share no page. Other threads may use the memory meanwhile, unless
/// access::exclusive is given. Memory is only ever moved; its contents never change, also when a call fails half-way.
/// Errors: the environment's are counted in the result. A null or wrapping range and a domain or node that the current
/// machine does not have are programmer's errors. std::bad_alloc may be thrown: then no policy is left behind, but
/// pages may have moved.
/// Source: TBB-NUMA 4.5 (helper functions that enforce a distribution by memory migration).
#pragma once

#include <homing/detail/array_parts.hpp>
#include <homing/distribution.hpp>
#include <homing/export.hpp>
#include <homing/ids.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {

/// Bytes of address space: of anything contiguous, or from mmap. The memory outlives the call: a temporary vector is
/// refused. So is a temporary view of a type of one's own, unless the type specializes
/// std::ranges::enable_borrowed_range, or the view gets a name first.
class memory_range {
 public:
  constexpr memory_range(void* address, std::size_t bytes) noexcept
      : address_(static_cast<std::byte*>(address)), bytes_(bytes) {}
  template <std::ranges::contiguous_range R>
    requires(std::ranges::sized_range<R> && std::ranges::borrowed_range<R>)
  constexpr memory_range(R&& range) noexcept  // NOLINT(google-explicit-constructor): a view of it
      : memory_range(const_cast<void*>(static_cast<const volatile void*>(std::ranges::data(range))),
                     static_cast<std::size_t>(std::ranges::size(range)) * sizeof(std::ranges::range_value_t<R>)) {}

  [[nodiscard]] constexpr std::byte* address() const noexcept { return address_; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* address_;
  std::size_t bytes_;
};

/// The same for a call that only looks: of any range, also of a temporary, as the memory is needed for the call only.
class memory_view {
 public:
  constexpr memory_view(void* address, std::size_t bytes) noexcept : range_(address, bytes) {}
  template <std::convertible_to<memory_range> R>
  constexpr memory_view(R&& range) noexcept  // NOLINT(google-explicit-constructor): a view of it
      : range_(std::forward<R>(range)) {}
  template <std::ranges::contiguous_range R>
    requires(std::ranges::sized_range<R> && !std::convertible_to<R, memory_range>)
  constexpr memory_view(R&& range) noexcept  // NOLINT(google-explicit-constructor): a view of it
      : range_(range) {}                     // by its name, as what stays

  [[nodiscard]] constexpr const memory_range& range() const noexcept { return range_; }

 private:
  memory_range range_;
};

/// What to do about pages that can't be placed.
enum class on_refusal {
  degrade,  ///< place the others, and count these
  fail      ///< stop at the first, take the policies set by this call back, and say so: placed_range::ok() is false.
            ///< Pages that have moved by then stay where they are: a copy in place is as good on any node
};

/// Who else may touch the range during the call.
enum class access {
  shared,    ///< anybody may
  exclusive  ///< nobody: the caller promises it. Permits the way without system calls: see `means::copying`
};

/// What holds for pages that are touched later, and for moves, when the home node is full.
enum class binding {
  preferred,  ///< the kernel takes the nearest node with free memory (MPOL_PREFERRED)
  strict      ///< the kernel refuses: touching then kills the process (MPOL_BIND)
};

/// How pages come to their homes.
enum class means {
  automatic,  ///< `policy`, or `moving` for patterns finer than mapping_count_max, or `copying` where those are refused
  policy,     ///< mbind with MOVE, a run of pages at a time: also for pages not yet touched. One mapping for each run
  moving,     ///< move_pages: only pages that are there; those of the range that are not yet are populated first
  copying     ///< no system call of NUMA's: a thread bound to the home domain copies a page aside, drops it and touches
              ///< it again. Private anonymous memory only; untouched pages are touched. Needs access::exclusive
};

struct placement_options {
  on_refusal refusal = on_refusal::degrade;
  access who = access::shared;
  binding strength = binding::preferred;
  means how = means::automatic;
};

/// Why a page is not where it should be.
enum class refusal_cause {
  not_permitted,     ///< the sandbox or kernel refuses the system calls (EPERM, ENOSYS, EACCES), and copying was no way
  not_exclusive,     ///< only copying was left, and access::exclusive was not given
  not_anonymous,     ///< only copying was left, and the page is a file's, shared, locked or in hugetlbfs
  mapped_elsewhere,  ///< another process maps the page too (EACCES)
  read_only_file,    ///< a read-only mapping of a file: its pages belong to the page cache
  no_memory,         ///< the home node has no free page, or the process may have no more mappings (ENOMEM)
  busy,              ///< the kernel holds the page, for example for I/O (EBUSY, EAGAIN)
  not_mapped,        ///< the range has a hole, or pages without access
  bad_node,          ///< the kernel has no such node for us (EINVAL, ENODEV)
  not_touched,       ///< the page is not there yet, and no policy would place it later: none could be set, or the page
                     ///< is of a shared mapping of a file, which the kernel places by the thread that touches it
  not_attempted,     ///< on_refusal::fail stopped before it, or took its policy back
  elsewhere          ///< nobody refused, but the page is on another node
};

/// A cause in words, with what to do. A static string.
[[nodiscard]] HOMING_API const char* describe(refusal_cause cause) noexcept;

struct refusal_count {
  refusal_cause cause;
  int error_number;  ///< the errno that told; 0 if none did
  std::size_t pages;
};

/// Pages are of page_bytes() each, whatever the grain. asked == placed + later + unknown + the sum of `refused`.
struct placement_report {
  std::size_t asked = 0;    ///< whole pages of the range that have a home
  std::size_t placed = 0;   ///< seen on their home's memory node afterwards
  std::size_t later = 0;    ///< not touched yet: the policy is set, they come to their home when touched
  std::size_t unknown = 0;  ///< the kernel does not tell where they are
  std::vector<refusal_count> refused;
  std::size_t moved = 0;         ///< of those placed: were elsewhere before; 0 when called again
  std::size_t mixed = 0;         ///< of those asked: in a grain of several homes
  std::size_t edge = 0;          ///< not asked: in a grain that is partly outside the range
  std::size_t without_home = 0;  ///< not asked: the distribution names none
  std::size_t grain_bytes = 0;   ///< the largest grain in the range
  bool by_policy = false;        ///< mbind was used
  bool by_moving = false;        ///< move_pages was used
  bool by_copying = false;       ///< pages were copied aside and touched again
  bool one_node = false;         ///< one memory node: nothing was done; all but `edge` counts as asked and placed
  bool is_virtual = false;       ///< a made-up machine: the homes are in a book

  /// Every page asked for is at home, or will be when touched.
  [[nodiscard]] bool complete() const noexcept { return asked == placed + later; }
  /// The causes in a line or a few, for people.
  [[nodiscard]] HOMING_API std::string describe() const;
};

/// The base page of this system, in bytes.
[[nodiscard]] HOMING_API std::size_t page_bytes() noexcept;
/// The smallest count of elements that fills whole pages: a grain for block(), so that no page is mixed. But only if
/// the data begin with a page: those of a distributed_array and of mmap do, those of a std::vector don't.
template <class T>
[[nodiscard]] std::size_t elements_per_page() noexcept;
/// Runs of pages that one call sets policies for; each can become a mapping of its own, of which Linux grants a process
/// 65530. Finer patterns are moved page by page.
inline constexpr std::size_t mapping_count_max = 4096;

/// Memory whose policy this object set, and resets: recycled memory must not keep an old one.
///
/// Ownership: of the policy, never of the memory. A page that is placed again belongs to the newer object, and the
///            older one leaves it alone. End it, or release() it, before the memory is unmapped.
///            On a made-up machine also of the range's entries in the book: they end with it.
/// Threads: like a container.
class [[nodiscard]] HOMING_API placed_range {
 public:
  placed_range() noexcept = default;
  placed_range(placed_range&& other) noexcept;
  placed_range& operator=(placed_range&& other) noexcept;
  /// reset().
  ~placed_range();

  [[nodiscard]] const placement_report& report() const noexcept { return report_; }
  /// False only if on_refusal::fail was asked for and something was refused.
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// What is still this object's goes back to the default policy; pages stay where they are. Returns 0 or the errno.
  int reset() noexcept;
  /// The policy stays: for memory that is unmapped as a whole.
  void release() noexcept;

 private:
  friend struct placed_range_access;
  struct span_of_bytes {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    std::uint64_t owner = 0;
    bool is_virtual = false;
  };
  span_of_bytes held_;  // empty: nothing to reset
  placement_report report_;
  bool ok_ = true;
};

/// Pages of one node.
struct node_pages {
  node_id node;
  std::size_t pages;
};

/// How it is known where pages are.
enum class page_source {
  kernel,     ///< move_pages' query: exact
  numa_maps,  ///< /proc/self/numa_maps, where the query is refused: exact, but for mappings partly in the range
  book        ///< a made-up machine's book
};

/// Where the pages of a range are. Pages are of page_bytes() each; those that the range has a part of count, too.
struct page_census {
  std::vector<node_pages> nodes;  ///< ascending by OS id, none with 0 pages
  std::size_t pages = 0;          ///< all of the range
  std::size_t untouched = 0;      ///< not there yet, the shared zero page, or swapped out
  std::size_t unknown = 0;        ///< the kernel does not tell (also: holes)
  page_source source = page_source::kernel;
  [[nodiscard]] HOMING_API std::size_t on(node_id node) const noexcept;
};

/// Of one home: its pages, and where they are.
struct home_census {
  domain_index home;
  node_id node;  ///< where its memory comes from
  page_census pages;
};

/// What is true of a distribution's pages. asked == at_home + away + untouched + unknown.
struct verification {
  std::vector<home_census> homes;  ///< ascending by domain, those with pages
  std::size_t asked = 0;
  std::size_t at_home = 0;
  std::size_t away = 0;
  std::size_t untouched = 0;
  std::size_t unknown = 0;
  std::size_t mixed = 0;
  std::size_t edge = 0;
  std::size_t without_home = 0;
  page_source source = page_source::kernel;
  /// at_home of those that are there and known; 1 if there are none.
  [[nodiscard]] HOMING_API double share_at_home() const noexcept;
};

namespace detail {

/// A distribution behind two words: the run that begins at an element.
struct run_source {
  const void* distribution;
  piece (*run)(const void* distribution, std::size_t position, std::size_t last);
};
HOMING_API placed_range enforce(const run_source& runs, memory_range range, std::size_t element_bytes,
                                const placement_options& options);
HOMING_API verification verify(const run_source& runs, memory_range range, std::size_t element_bytes);

template <class Dist>
[[nodiscard]] run_source erase(const Dist& d) noexcept {
  return {std::addressof(d), [](const void* p, std::size_t position, std::size_t last) {
            return run_at(*static_cast<const Dist*>(p), position, last);
          }};
}

/// The range as bytes, and how many bytes an element of the distribution has.
struct fitted_range {
  memory_range bytes;
  std::size_t element_bytes;
};

/// How many of an array's dimensions a distribution of several has, from the first on; 0 if it has more than the array.
template <class Dist, std::size_t Rank>
[[nodiscard]] consteval std::size_t dims_in() noexcept {
  if constexpr (Rank == 0) {
    return 0;
  } else if constexpr (distribution_over<Dist, Rank>) {
    return Rank;
  } else {
    return dims_in<Dist, Rank - 1>();
  }
}

/// The bytes of a row of an array, if it has so many rows, or of a row's row, and so on; 0 if it has so many of none.
template <class Array, std::size_t Dims = 1>
[[nodiscard]] constexpr std::size_t bytes_of_one(std::size_t count) noexcept {
  if (count == count_points<Dims>(array_extents<Array, Dims>())) {
    return sizeof(typename array_parts<Array, Dims>::element);
  }
  if constexpr (Dims < array_rank<Array>) {
    return bytes_of_one<Array, Dims + 1>(count);
  } else {
    return 0;
  }
}

/// Checks that a distribution with a size or with extents has the range's. An array of arrays has rows for a
/// distribution with as many points as it has rows, and else the elements of all rows. A built-in one has the extents
/// of a distribution of several dimensions in any case.
template <class Dist, std::ranges::contiguous_range R>
[[nodiscard]] fitted_range fitting(const Dist& d, R&& range, const char* function) {
  using whole = std::remove_reference_t<R>;
  constexpr std::size_t rank = array_rank<whole>;
  const memory_range bytes(range);
  std::size_t element_bytes = sizeof(std::ranges::range_value_t<R>);
  bool has_rows = false;
  if constexpr (requires {
                  { d.size() } -> std::convertible_to<std::size_t>;
                }) {
    has_rows = d.size() == static_cast<std::size_t>(std::ranges::size(range));
    if constexpr (rank > 1) element_bytes = bytes_of_one<whole>(d.size());
    expects(rank > 1 ? element_bytes > 0 : has_rows, function, "the distribution has another size than the range");
  }
  if constexpr (rank > 1 && !distribution_over<Dist, 1> && requires { d.along(0).extent(); }) {
    constexpr std::size_t dims = dims_in<Dist, rank>();
    constexpr point<dims> extents = array_extents<whole, dims>();
    constexpr bool is_built_in = std::is_array_v<whole>;
    static_assert(!is_built_in || !std::is_array_v<typename array_parts<whole, dims>::element>,
                  "the distribution has other dimensions than the array");
    for (std::size_t k = 0; k < dims && (is_built_in || !has_rows); ++k) {
      expects(d.along(k).extent() == extents[k], function, "the distribution has other extents than the array");
    }
  }
  if constexpr (rank > 1) {  // a std::array of nothing is a byte
    if (count_points<rank>(array_extents<whole, rank>()) == 0) return {{bytes.address(), 0}, element_bytes};
  }
  return {bytes, element_bytes};
}

}  // namespace detail

/// Makes the pages of a range live where a distribution says: element i of the range (row-major) is point i of the
/// distribution's space. Pages that are there are moved, for the others the policy is set. Calling it again moves
/// nothing, and what it returns takes the older object's place: `placed = enforce(d, x)` may be repeated. The memory
/// outlives the call: a temporary vector is refused.
template <class Dist, std::ranges::contiguous_range R>
  requires((distribution_over<Dist, 1> || enumerable_distribution<Dist>) && std::ranges::borrowed_range<R>)
placed_range enforce(const Dist& d, R&& range, const placement_options& options = {}) {
  const detail::fitted_range on = detail::fitting(d, range, "enforce");
  return detail::enforce(detail::erase(d), on.bytes, on.element_bytes, options);
}

/// Counts, page by page, whether a range lives where a distribution says. Changes nothing. Cost: the kernel
/// walks all mappings of the process (/proc/self/smaps), then the range's pages; with one memory node, too.
template <class Dist, std::ranges::contiguous_range R>
  requires(distribution_over<Dist, 1> || enumerable_distribution<Dist>)
[[nodiscard]] verification verify(const Dist& d, R&& range) {
  const detail::fitted_range on = detail::fitting(d, range, "verify");
  return detail::verify(detail::erase(d), on.bytes, on.element_bytes);
}

/// Counts the pages of a range on each node. Changes nothing: no page is touched. Cost: as verify().
[[nodiscard]] HOMING_API page_census where(memory_view range);

/// Deals the pages of a range over nodes by turns, those that are there and those to come (MPOL_INTERLEAVE). Without a
/// list: all nodes that have memory and CPUs for this process. Named nodes may be memory tiers. Pages that are there go
/// by their address, so that calling again moves nothing; the kernel deals later ones at a phase of its own.
HOMING_API placed_range interleave(memory_range range, std::span<const node_index> nodes = {},
                                   const placement_options& options = {});

/// Makes all pages of a range live in a domain, or on a node, which may be a memory tier.
HOMING_API placed_range localize(memory_range range, domain_index home, const placement_options& options = {});
HOMING_API placed_range localize(memory_range range, node_index home, const placement_options& options = {});

template <class T>
std::size_t elements_per_page() noexcept {
  std::size_t a = page_bytes();
  std::size_t b = sizeof(T);
  while (b != 0) a = std::exchange(b, a % b);  // the greatest common divisor
  return page_bytes() / a;
}

}  // namespace homing
