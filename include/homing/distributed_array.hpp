/// An array that lives where its distribution says: memory of its own, placed, and touched first by threads of its
/// homes.
///
///   homing::distributed_array<double> x(n);                              // blocks over all domains, zeros
///   homing::distributed_array<double, 2> m({rows, columns});             // blocks of whole rows
///   homing::distributed_array<double> y(homing::cyclic(n), homing::from_index([&](std::size_t i) { return f(i); }));
///   if (!x.placement().complete()) std::puts(x.placement().describe().c_str());
///   std::printf("%.0f %% at home\n", 100 * x.verify().share_at_home());
///   homing::parallel_for(x, [](double& e) { e *= 2; });                  // <homing/array_loops.hpp>
///
/// Pages are placed, not elements: the page at the border of two parts goes to the home of most of it, and is counted
/// as `mixed`. Who wants none passes page_blocks<T>(extents) as the distribution; then parts differ by up to a page.
/// Arrays with the same distribution have element i in the same domain, whatever their types, so that is not the
/// default.
///
/// One memory node: the pages are the system's, the caller makes the elements, and no NUMA call is made. Made-up
/// machine: the homes are in a book. Needs no TBB.
#pragma once

#include <homing/detail/array_elements.hpp>
#include <homing/detail/placed_blocks.hpp>
#include <homing/detail/placed_pages.hpp>
#include <homing/distributed_span.hpp>
#include <homing/distribution.hpp>
#include <homing/memory_options.hpp>
#include <homing/placement.hpp>

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace homing {

/// How an array's memory is asked for; see placement_options. `fail`: ok() is false, nothing has a policy, and the
/// elements are there all the same.
struct array_options {
  on_refusal refusal = on_refusal::degrade;
  binding strength = binding::preferred;
  means how = means::automatic;
  page_kind pages = page_kind::base;
};

/// Elements are not initialised, and their pages not touched: they come to their homes when somebody first writes to
/// them.
struct uninitialized_t {};
inline constexpr uninitialized_t uninitialized{};

/// Element i is f(i), element (i, j) is f(i, j), and so on. f is called by several threads at the same time.
template <class F>
struct from_index {
  explicit from_index(F function) : f(std::move(function)) {}
  F f;
};

namespace detail {

/// How many elements; Errors: std::bad_array_new_length if they are more than half an address space holds.
template <class T, std::size_t Dims>
[[nodiscard]] std::size_t element_count(const point<Dims>& extents) {
  std::size_t count = 1;
  for (const std::size_t e : extents) {
    if (e == 0) return 0;
  }
  for (const std::size_t e : extents) {
    if (count > SIZE_MAX / 2 / sizeof(T) / e) throw std::bad_array_new_length();
    count *= e;
  }
  return count;
}

/// Memory is as good as an element.
template <class T>
concept has_no_making = std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>;

template <std::size_t Dims>
[[nodiscard]] constexpr point<Dims> all_extents(const point<Dims>& extents) noexcept {
  return extents;
}
[[nodiscard]] constexpr point<1> all_extents(std::size_t extent) noexcept { return {extent}; }

/// What describes the extents of an array: a number for one dimension, a point for more.
template <std::size_t Dims>
using extents_of_array = std::conditional_t<Dims == 1, std::size_t, point<Dims>>;

}  // namespace detail

/// Blocks that begin on whole pages of `unit_bytes`, in an array of T that does: no page has two homes. For more than
/// one dimension blocks of whole hyperplanes (rows), of which as many as fill whole pages belong together.
template <class T, std::size_t Dims>
[[nodiscard]] regular_distribution<Dims> page_blocks(const point<Dims>& extents,
                                                     const domain_set& over = domain_set::all(),
                                                     std::size_t unit_bytes = page_bytes()) {
  static_cast<void>(detail::element_count<T, Dims>(extents));
  std::size_t plane_bytes = sizeof(T);
  for (std::size_t k = 1; k < Dims; ++k) plane_bytes *= extents[k];
  std::size_t a = unit_bytes;
  std::size_t b = plane_bytes;
  while (b != 0) a = std::exchange(b, a % b);  // the greatest common divisor
  return [&]<std::size_t... K>(std::index_sequence<K...>) -> regular_distribution<Dims> {
    return {{axis::block(extents[0], over.size(), unit_bytes / a), axis::whole(extents[K + 1])...}, over};
  }(std::make_index_sequence<Dims - 1>());
}
template <class T>
[[nodiscard]] regular_distribution<1> page_blocks(std::size_t size, const domain_set& over = domain_set::all(),
                                                  std::size_t unit_bytes = page_bytes()) {
  return page_blocks<T, 1>(point<1>{size}, over, unit_bytes);
}

/// Row-major elements in pages of their own, placed along `Dist`. A container but for its size, which is fixed.
///
/// Ownership: of elements and pages; freed, nothing is left of their policy. Moving keeps the memory where it is, and
///            leaves an empty array behind. Not copyable: a copy of this size is to be written down.
/// Threads:   like a container. Elements are made by one thread for each home, bound to it, all at the same time (the
///            caller makes small arrays); they are destroyed by the caller.
/// Errors:    std::bad_array_new_length for more bytes than can be addressed, std::bad_alloc, and what T's constructor
///            or a function of the index throws: what was made is destroyed then, by any thread. What could not be
///            placed is in placement(). A distribution of other extents, or with domains that the machine does not
///            have, is a programmer's error.
/// Source:    TBB-NUMA 4.5.
template <class T, std::size_t Dims = 1, class Dist = regular_distribution<Dims>>
  requires distribution_over<Dist, Dims>
class distributed_array {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "an array's elements are objects that are not const; a const array gives const elements");
  static_assert(std::is_nothrow_destructible_v<T>, "an element's destructor must not throw");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = T*;
  using const_iterator = const T*;
  using distribution_type = Dist;
  using extents_type = detail::extents_of_array<Dims>;
  static constexpr std::size_t dims = Dims;

  /// Empty.
  distributed_array()
    requires std::same_as<Dist, regular_distribution<Dims>>
      : distributed_array(private_t(), extents_type{}, blocks(extents_type{}), array_options{}) {}

  /// In blocks over all domains of the current machine: of elements, or of whole rows.
  explicit distributed_array(const extents_type& extents, const array_options& options = {})
    requires std::same_as<Dist, regular_distribution<Dims>>
      : distributed_array(extents, blocks(extents), options) {}
  distributed_array(const extents_type& extents, uninitialized_t how, const array_options& options = {})
    requires(std::same_as<Dist, regular_distribution<Dims>> && detail::has_no_making<T>)
      : distributed_array(extents, blocks(extents), how, options) {}
  template <class F>
  distributed_array(const extents_type& extents, const from_index<F>& from, const array_options& options = {})
    requires std::same_as<Dist, regular_distribution<Dims>>
      : distributed_array(extents, blocks(extents), from, options) {}

  /// Along a distribution that knows its extents.
  explicit distributed_array(Dist dist, const array_options& options = {})
    requires detail::knows_extents<Dist>
      : distributed_array(extents_in(dist), dist, options) {}
  distributed_array(Dist dist, uninitialized_t how, const array_options& options = {})
    requires(detail::knows_extents<Dist> && detail::has_no_making<T>)
      : distributed_array(extents_in(dist), dist, how, options) {}
  template <class F>
  distributed_array(Dist dist, const from_index<F>& from, const array_options& options = {})
    requires detail::knows_extents<Dist>
      : distributed_array(extents_in(dist), dist, from, options) {}

  /// Along any distribution. Elements are value-initialised: numbers are zeros.
  distributed_array(const extents_type& extents, Dist dist, const array_options& options = {})
      : distributed_array(private_t(), extents, std::move(dist), options) {
    constexpr bool has_default = std::is_default_constructible_v<T>;
    static_assert(has_default, "elements without a default constructor are made of their index: homing::from_index(f)");
    if constexpr (has_default) make(detail::make_values<T>{data()});
  }
  distributed_array(const extents_type& extents, Dist dist, uninitialized_t, const array_options& options = {})
    requires detail::has_no_making<T>
      : distributed_array(private_t(), extents, std::move(dist), options) {}
  template <class F>
  distributed_array(const extents_type& extents, Dist dist, const from_index<F>& from,
                    const array_options& options = {})
      : distributed_array(private_t(), extents, std::move(dist), options) {
    make(detail::make_from_index<T, Dims, F>{data(), on_.extents, from.f});
  }

  distributed_array(const distributed_array&) = delete;
  distributed_array& operator=(const distributed_array&) = delete;
  distributed_array(distributed_array&& other) noexcept(std::is_nothrow_copy_constructible_v<Dist>)
      : dist_(other.dist_),
        options_(other.options_),
        pages_(std::move(other.pages_)),
        on_(std::exchange(other.on_, {})),
        made_(std::exchange(other.made_, 0)) {}
  distributed_array& operator=(distributed_array&& other) noexcept(std::is_nothrow_swappable_v<Dist>) {
    if (this == &other) return *this;
    destroy();
    using std::swap;
    swap(dist_, other.dist_);
    swap(options_, other.options_);
    pages_ = std::move(other.pages_);
    other.pages_ = {};
    on_ = std::exchange(other.on_, {});
    made_ = std::exchange(other.made_, 0);
    return *this;
  }
  ~distributed_array() { destroy(); }

  [[nodiscard]] T* data() noexcept { return on_.data; }
  [[nodiscard]] const T* data() const noexcept { return on_.data; }
  [[nodiscard]] std::size_t size() const noexcept { return on_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const point<Dims>& extents() const noexcept { return on_.extents; }
  [[nodiscard]] std::size_t extent(std::size_t dimension) const noexcept { return on_.extents[dimension]; }
  [[nodiscard]] const Dist& distribution() const noexcept { return dist_; }

  [[nodiscard]] iterator begin() noexcept { return data(); }
  [[nodiscard]] iterator end() noexcept { return data() + size(); }
  [[nodiscard]] const_iterator begin() const noexcept { return data(); }
  [[nodiscard]] const_iterator end() const noexcept { return data() + size(); }

  /// Indices are checked in debug builds.
  template <std::integral... Index>
    requires(sizeof...(Index) == Dims)
  [[nodiscard]] T& operator()(Index... index) noexcept {
    return on_.at(index...);
  }
  template <std::integral... Index>
    requires(sizeof...(Index) == Dims)
  [[nodiscard]] const T& operator()(Index... index) const noexcept {
    return on_.at(index...);
  }
  [[nodiscard]] T& operator[](const point<Dims>& at) noexcept { return on_.at(at); }
  [[nodiscard]] const T& operator[](const point<Dims>& at) const noexcept { return on_.at(at); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept
    requires(Dims == 1)
  {
    return on_.at(i);
  }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept
    requires(Dims == 1)
  {
    return on_.at(i);
  }
  /// The elements along the last dimension: row(i) of two, row(i, j) of three.
  template <std::integral... Index>
    requires(Dims > 1 && sizeof...(Index) + 1 == Dims)
  [[nodiscard]] std::span<T> row(Index... index) noexcept {
    return on_.row(index...);
  }
  template <std::integral... Index>
    requires(Dims > 1 && sizeof...(Index) + 1 == Dims)
  [[nodiscard]] std::span<const T> row(Index... index) const noexcept {
    return on_.row(index...);
  }

  /// Views, with the distribution: as long as the array stays where it is.
  [[nodiscard]] distributed_span<T, Dims, Dist> view() { return {on_, dist_}; }
  [[nodiscard]] distributed_span<const T, Dims, Dist> view() const { return {layout(), dist_}; }
  operator distributed_span<T, Dims, Dist>() { return view(); }
  operator distributed_span<const T, Dims, Dist>() const { return view(); }

  /// What placing the pages came to when last done: all of them, the end of the last page included.
  [[nodiscard]] const placement_report& placement() const noexcept { return pages_.report(); }
  /// False only if on_refusal::fail was asked for and something was refused.
  [[nodiscard]] bool ok() const noexcept { return pages_.ok(); }
  /// What is true now, counted page by page. Changes nothing.
  [[nodiscard]] verification verify() const {
    if (empty()) return {};
    const auto& along = detail::along_memory<Dims>(dist_, on_.extents);
    const detail::byte_runs<std::remove_cvref_t<decltype(along)>> runs{along, sizeof(T), size()};
    return detail::verify(runs.source(), pages_.range(), 1);
  }
  /// Places the pages once more: after others have moved them, or with access::exclusive where system calls are
  /// refused.
  const placement_report& enforce(access who = access::shared) {
    place(who);
    return placement();
  }

  /// How the elements lie: for loops.
  [[nodiscard]] const detail::strided<T, Dims>& layout() noexcept { return on_; }
  [[nodiscard]] detail::strided<const T, Dims> layout() const noexcept { return {on_.data, on_.extents, on_.strides}; }

 private:
  struct private_t {};

  // The memory, with policies, and no element. New memory is ours alone.
  distributed_array(private_t, const extents_type& extents, Dist dist, const array_options& options)
      : dist_(std::move(dist)), options_(options) {
    const point<Dims> all = detail::all_extents(extents);
    const std::size_t count = detail::element_count<T, Dims>(all);
    detail::expect_fit<Dims>(dist_, all, "distributed_array");
    pages_ = detail::placed_pages(count * sizeof(T), alignof(T), options.pages);
    on_ = detail::strided<T, Dims>::row_major(reinterpret_cast<T*>(pages_.data()), all);
    place(access::exclusive);
  }

  [[nodiscard]] static regular_distribution<Dims> blocks(const extents_type& extents) {
    const point<Dims> all = detail::all_extents(extents);
    static_cast<void>(detail::element_count<T, Dims>(all));  // throws before the distribution would abort
    if constexpr (Dims == 1) {
      return block(extents);
    } else {
      return block<Dims>(extents, domain_set::all());
    }
  }
  [[nodiscard]] static extents_type extents_in(const Dist& dist) {
    if constexpr (Dims == 1) {
      return dist.along(0).extent();
    } else {
      return detail::known_extents<Dims>(dist);
    }
  }

  void place(access who) {
    if (empty()) return;
    const auto& along = detail::along_memory<Dims>(dist_, on_.extents);
    const detail::byte_runs<std::remove_cvref_t<decltype(along)>> runs{along, sizeof(T), size()};
    pages_.place(runs.source(),
                 {.refusal = options_.refusal, .who = who, .strength = options_.strength, .how = options_.how});
  }
  template <class Make>
  void make(const Make& with) {
    const auto& along = detail::along_memory<Dims>(dist_, on_.extents);
    detail::element_maker<T, std::remove_cvref_t<decltype(along)>, Make>(data(), size(), along, with).run();
    made_ = size();
    if (ok()) place(access::shared);  // the pages are there now: are they where they should be?
  }
  void destroy() noexcept {
    std::destroy(data(), data() + made_);
    made_ = 0;
  }

  Dist dist_;
  array_options options_;
  detail::placed_pages pages_;
  detail::strided<T, Dims> on_;
  std::size_t made_ = 0;  ///< elements to destroy
};

}  // namespace homing
