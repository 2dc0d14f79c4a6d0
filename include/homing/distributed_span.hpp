/// A view that carries its distribution: memory of somebody else, and who should work on which part of it.
///
///   std::vector<double> x(n);
///   homing::distributed_span xs(x, homing::block(n));
///   homing::placed_range placed = xs.enforce();                     // moves the pages
///   homing::parallel_for(xs, [](double& e) { e = 1; });             // <homing/array_loops.hpp>
///
/// In two or more dimensions memory is row-major, and a subview is a box of it, with the homes that its elements had.
///
/// Source: TBB-NUMA 4.5 (one data distribution for data and work).
#pragma once

#include <homing/detail/array_parts.hpp>
#include <homing/detail/strided.hpp>
#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace homing {

/// A distribution seen from inside: point 0 of it is point `origin` of another one.
/// Threads and cost: those of the other, of which it holds a copy.
template <std::size_t Dims, distribution_over<Dims> Dist>
class shifted {
 public:
  static constexpr bool has_homes = !distribution_without_homes<Dist>;
  constexpr shifted(Dist of, const point<Dims>& origin, const point<Dims>& extents)
      : of_(std::move(of)), origin_(origin), extents_(extents) {}

  [[nodiscard]] constexpr std::optional<domain_index> home(const box<Dims>& part) const {
    return of_.home(outside(part));
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return detail::count_points<Dims>(extents_); }
  [[nodiscard]] constexpr piece run_at(std::size_t position, std::size_t last) const
    requires(Dims == 1 && enumerable_distribution<Dist>)
  {
    const piece p = of_.run_at(position + origin_[0], last + origin_[0]);
    return {p.first - origin_[0], p.last - origin_[0], p.home};
  }
  [[nodiscard]] constexpr const domain_set& domains() const noexcept
    requires requires(const Dist& d) { d.domains(); }
  {
    return of_.domains();
  }
  template <class F>
    requires requires(const Dist& d, F&& f) { d.for_each_box(domain_index{}, f); }
  constexpr void for_each_box(domain_index domain, F&& f) const {
    of_.for_each_box(domain, [&](const box<Dims>& there) {
      box<Dims> b = there;
      for (std::size_t k = 0; k < Dims; ++k) {
        b.first[k] = std::max(b.first[k], origin_[k]) - origin_[k];
        b.last[k] = std::max(std::min(b.last[k], origin_[k] + extents_[k]), origin_[k]) - origin_[k];
      }
      if (!b.empty()) f(static_cast<const box<Dims>&>(b));
    });
  }

  /// A box of this, as one shift.
  [[nodiscard]] constexpr shifted inner(const point<Dims>& origin, const point<Dims>& extents) const {
    const box<Dims> b = outside({origin, origin});
    return {of_, b.first, extents};
  }

 private:
  [[nodiscard]] constexpr box<Dims> outside(box<Dims> part) const noexcept {
    for (std::size_t k = 0; k < Dims; ++k) {
      part.first[k] += origin_[k];
      part.last[k] += origin_[k];
    }
    return part;
  }

  Dist of_;
  point<Dims> origin_;
  point<Dims> extents_;
};

namespace detail {

template <std::size_t Dims, class Dist>
[[nodiscard]] constexpr shifted<Dims, Dist> shift(const Dist& of, const point<Dims>& origin,
                                                  const point<Dims>& extents) {
  return {of, origin, extents};
}
template <std::size_t Dims, class Dist>
[[nodiscard]] constexpr shifted<Dims, Dist> shift(const shifted<Dims, Dist>& of, const point<Dims>& origin,
                                                  const point<Dims>& extents) {
  return of.inner(origin, extents);
}

/// The distribution of a row-major array, position by position.
template <std::size_t Dims, class Dist>
[[nodiscard]] constexpr decltype(auto) along_memory(const Dist& dist, [[maybe_unused]] const point<Dims>& extents) {
  if constexpr (Dims == 1 || enumerable_distribution<Dist>) {
    return (dist);
  } else {
    return row_major<Dims, Dist>(dist, extents);
  }
}

/// A distribution that knows its size must have the array's.
template <std::size_t Dims, class Dist>
constexpr void expect_fit(const Dist& dist, const point<Dims>& extents, const char* function) {
  const char* const message = "the distribution has other extents than the array";
  if constexpr (requires { dist.along(0).extent(); }) {
    for (std::size_t k = 0; k < Dims; ++k) expects(dist.along(k).extent() == extents[k], function, message);
  } else if constexpr (requires { dist.size(); }) {
    expects(dist.size() == count_points<Dims>(extents), function, message);
  }
}

/// The extents of a distribution that knows them.
template <std::size_t Dims, class Dist>
[[nodiscard]] constexpr point<Dims> known_extents(const Dist& dist) noexcept {
  point<Dims> extents{};
  for (std::size_t k = 0; k < Dims; ++k) extents[k] = dist.along(k).extent();
  return extents;
}
template <class Dist>
concept knows_extents = requires(const Dist& d) { d.along(std::size_t{0}).extent(); };

template <class From, class T>
inline constexpr bool elements_are = std::is_convertible_v<From (*)[], T (*)[]>;
/// A temporary vector is gone after the call. For a span of const it is let through, as for std::span: such a span is
/// often an argument, and the vector lives as long as the call.
template <class R, class T>
inline constexpr bool outlives_call = std::ranges::borrowed_range<R> || std::is_const_v<T>;

/// Ranges whose elements a span of T may be of.
template <class R, class T>
concept elements_for = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && outlives_call<R, T> &&
                       elements_are<std::remove_reference_t<std::ranges::range_reference_t<R>>, T>;

/// Arrays of `Dims` dimensions, with elements for a span of T.
template <class Array, class T, std::size_t Dims>
concept array_for =
    (Dims > 1) && array_parts<Array, Dims>::is_array && elements_are<typename array_parts<Array, Dims>::element, T>;

/// The elements of a matrix in a range: numbers for T[4][5], std::array<std::array<T, 5>, 4> and std::vector<T>.
template <class R, std::size_t Dims>
struct matrix_elements {};
template <std::ranges::range R, std::size_t Dims>
struct matrix_elements<R, Dims> {
  using type = std::remove_all_extents_t<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
};
template <std::ranges::range R, std::size_t Dims>
  requires(array_parts<std::remove_reference_t<R>, Dims>::is_array)
struct matrix_elements<R, Dims> {
  using type = typename array_parts<std::remove_reference_t<R>, Dims>::element;
};

/// What is no array of a size that the compiler knows.
template <class Pointer>
concept without_size =
    !std::is_bounded_array_v<std::remove_reference_t<Pointer>> && std::is_pointer_v<std::decay_t<Pointer>>;

}  // namespace detail

/// Elements of a row-major array, and the distribution of their indices. Shallow, like std::span: a const one gives T&.
///
/// Ownership: of nothing but a copy of the distribution; the memory outlives it. Threads: like a pointer.
/// Errors:    a distribution with other extents and a subview that reaches outside are programmer's errors; indices are
///            checked in debug builds.
template <class T, std::size_t Dims = 1, class Dist = regular_distribution<Dims>>
  requires distribution_over<Dist, Dims>
class distributed_span {
  static_assert(Dims == 1 || !std::is_array_v<T>,
                "a pointer to rows is none to elements: pass the array itself, with a distribution of its dimensions");

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using distribution_type = Dist;
  static constexpr std::size_t dims = Dims;

  /// Row-major elements from `data` on.
  constexpr distributed_span(T* data, const point<Dims>& extents, Dist dist)
      : on_(detail::strided<T, Dims>::row_major(data, extents)), dist_(std::move(dist)) {
    detail::expect_fit<Dims>(dist_, extents, "distributed_span");
  }
  /// As many from a pointer on as the distribution has points. (What has a size of its own, a built-in array too, is a
  /// range: below.)
  template <class Pointer>
    requires(detail::knows_extents<Dist> && std::is_convertible_v<Pointer, T*> &&
             !(std::ranges::contiguous_range<Pointer> && std::ranges::sized_range<Pointer>))
  constexpr distributed_span(Pointer&& data, Dist dist)
      : distributed_span(static_cast<T*>(std::forward<Pointer>(data)), detail::known_extents<Dims>(dist), dist) {}
  /// All of a vector, an array, built-in or not, a std::span. In more dimensions it has the elements row by row, at
  /// least as many as the distribution has points; of a longer one, as many from its first on. The first row m[0] of a
  /// matrix is such a range, too, and too short: pass m itself, or the pointer &m[0][0].
  template <detail::elements_for<T> R>
    requires(Dims == 1)
  constexpr distributed_span(R&& range, Dist dist)
      : distributed_span(std::ranges::data(range), {static_cast<std::size_t>(std::ranges::size(range))},
                         std::move(dist)) {}
  template <detail::elements_for<T> R>
    requires(Dims > 1 && detail::knows_extents<Dist>)
  constexpr distributed_span(R&& range, Dist dist)
      : distributed_span(std::ranges::data(range), detail::known_extents<Dims>(dist), dist) {
    const auto count = static_cast<std::size_t>(std::ranges::size(range));
    detail::expects(count >= detail::count_points<Dims>(on_.extents), "distributed_span",
                    "the distribution has another number of points: more than the range has elements. If it is the "
                    "first row of a matrix, pass the array itself, or &m[0][0]");
  }
  /// All of an array of as many dimensions, T[4][5] or std::array<std::array<T, 5>, 4>: its extents are those of its
  /// type. One of elements that are arrays, distributed_span<std::array<T, 5>, 2>, says so. A temporary only for a span
  /// of const, as with ranges.
  template <class Array>
    requires(detail::array_for<std::remove_reference_t<Array>, T, Dims> &&
             (std::is_lvalue_reference_v<Array> || std::is_const_v<T>))
  constexpr distributed_span(Array&& array, Dist dist)
      : distributed_span(detail::first_element<Dims>(array),
                         detail::array_extents<std::remove_reference_t<Array>, Dims>(), std::move(dist)) {}
  /// Of `on` as it is.
  constexpr distributed_span(const detail::strided<T, Dims>& on, Dist dist) : on_(on), dist_(std::move(dist)) {}
  constexpr operator distributed_span<const T, Dims, Dist>() const
    requires(!std::is_const_v<T>)
  {
    return {detail::strided<const T, Dims>{on_.data, on_.extents, on_.strides}, dist_};
  }

  [[nodiscard]] constexpr T* data() const noexcept { return on_.data; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return on_.size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] constexpr const point<Dims>& extents() const noexcept { return on_.extents; }
  [[nodiscard]] constexpr std::size_t extent(std::size_t dimension) const noexcept { return on_.extents[dimension]; }
  [[nodiscard]] constexpr const Dist& distribution() const noexcept { return dist_; }

  template <std::integral... Index>
    requires(sizeof...(Index) == Dims)
  [[nodiscard]] constexpr T& operator()(Index... index) const noexcept {
    return on_.at(index...);
  }
  [[nodiscard]] constexpr T& operator[](const point<Dims>& at) const noexcept { return on_.at(at); }
  [[nodiscard]] constexpr T& operator[](std::size_t i) const noexcept
    requires(Dims == 1)
  {
    return on_.at(i);
  }
  /// The elements along the last dimension: row(i) of two, row(i, j) of three.
  template <std::integral... Index>
    requires(Dims > 1 && sizeof...(Index) + 1 == Dims)
  [[nodiscard]] constexpr std::span<T> row(Index... index) const noexcept {
    return on_.row(index...);
  }

  /// False for a subview with memory of others between its rows.
  [[nodiscard]] constexpr bool is_contiguous() const noexcept { return on_.is_contiguous(); }
  /// All of it, row-major. It is contiguous, or this is a programmer's error.
  [[nodiscard]] constexpr std::span<T> elements() const {
    detail::expects(is_contiguous(), "distributed_span::elements", "other memory lies between the rows; go row by row");
    return {data(), size()};
  }
  [[nodiscard]] constexpr T* begin() const noexcept
    requires(Dims == 1)
  {
    return data();
  }
  [[nodiscard]] constexpr T* end() const noexcept
    requires(Dims == 1)
  {
    return data() + size();
  }

  /// A box of it, with the same homes.
  [[nodiscard]] constexpr auto subview(const box<Dims>& part) const {
    point<Dims> extents{};
    std::size_t offset = 0;
    for (std::size_t k = 0; k < Dims; ++k) {
      const bool is_inside = part.first[k] <= part.last[k] && part.last[k] <= on_.extents[k];
      detail::expects(is_inside, "distributed_span::subview", "the box reaches outside");
      extents[k] = part.last[k] - part.first[k];
      offset += part.first[k] * on_.strides[k];
    }
    T* const first = part.empty() ? on_.data : on_.data + offset;
    auto inner = detail::shift<Dims>(dist_, part.first, extents);
    return distributed_span<T, Dims, decltype(inner)>(detail::strided<T, Dims>{first, extents, on_.strides}, inner);
  }
  [[nodiscard]] constexpr auto subview(std::size_t first, std::size_t last) const
    requires(Dims == 1)
  {
    return subview(interval(first, last));
  }

  /// homing::enforce() and verify() of all of it. It is contiguous, or this is a programmer's error.
  [[nodiscard]] placed_range enforce(const placement_options& options = {}) const {
    return homing::enforce(detail::along_memory<Dims>(dist_, on_.extents), elements(), options);
  }
  [[nodiscard]] verification verify() const {
    return homing::verify(detail::along_memory<Dims>(dist_, on_.extents), elements());
  }

  /// How the elements lie: for loops.
  [[nodiscard]] constexpr const detail::strided<T, Dims>& layout() const noexcept { return on_; }

 private:
  detail::strided<T, Dims> on_;
  Dist dist_;
};

template <std::ranges::contiguous_range R, class Dist>
distributed_span(R&&, Dist) -> distributed_span<std::remove_reference_t<std::ranges::range_reference_t<R>>, 1, Dist>;
template <std::ranges::contiguous_range R, std::size_t Dims>
  requires(Dims > 1)
distributed_span(R&&, regular_distribution<Dims>)
    -> distributed_span<typename detail::matrix_elements<R, Dims>::type, Dims>;
template <detail::without_size Pointer, std::size_t Dims>
distributed_span(Pointer&&, regular_distribution<Dims>)
    -> distributed_span<std::remove_pointer_t<std::decay_t<Pointer>>, Dims>;
template <detail::without_size Pointer, class Dist>
  requires detail::knows_extents<Dist>
distributed_span(Pointer&&, Dist) -> distributed_span<std::remove_pointer_t<std::decay_t<Pointer>>, 1, Dist>;
template <class T, std::size_t Dims, class Dist>
distributed_span(T*, point<Dims>, Dist) -> distributed_span<T, Dims, Dist>;

}  // namespace homing

/// Its elements outlive it.
template <class T, std::size_t Dims, class Dist>
inline constexpr bool std::ranges::enable_borrowed_range<homing::distributed_span<T, Dims, Dist>> = true;
