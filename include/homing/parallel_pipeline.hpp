/// Pipelines whose stages run where their data is: a home for a filter, or for each item before it.
///
///   tbb::parallel_pipeline(tokens,
///       tbb::make_filter<void, row>(tbb::filter_mode::serial_in_order, read_row) &
///       tbb::make_filter<row, sum>(tbb::filter_mode::parallel, homing::on(0, add_up)) &           // at domain 0
///       tbb::make_filter<sum, void>(tbb::filter_mode::parallel, homing::on(home_of_sum, store)));  // by item
///
/// Filters, their composition and the run are oneTBB's; `on` goes around a filter's body. An item whose next stage is
/// at home elsewhere is detached: it leaves its thread for that domain's queue, and the thread goes on with other
/// items. One whose next stage is at home here, or nowhere in particular, stays with its thread. A home is a hint:
/// threads without work take what waits for others. Without our libtbb.so.12 the same program runs, and homes mean
/// nothing.
///
/// Source: TBB-NUMA 4.4.3 (detaching subtrees), figures 10 and 12. Why it is made so:
/// docs/design/0004-homes-of-stages.md.
#pragma once

#include <homing/tasks.hpp>

#include <oneapi/tbb/parallel_pipeline.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace homing {
namespace detail {

/// What the one-argument on() takes: a domain, its number, or perhaps one.
template <class T>
concept address = requires(const T& where) {
  { on(where) } -> std::same_as<place>;
};

/// A body as a base class, so that its call operator is the placed one's too: oneTBB deduces a filter's types from it.
template <class Body>
class body_part : public Body {
 public:
  explicit body_part(Body body) : Body(std::move(body)) {}
  [[nodiscard]] const Body& own_body() const noexcept { return *this; }
};
/// Pointers to functions and members, and what is final.
template <class Body>
  requires(!std::is_class_v<Body> || std::is_final_v<Body>)
class body_part<Body> {
 public:
  explicit body_part(Body body) : body_(std::move(body)) {}
  [[nodiscard]] const Body& own_body() const noexcept { return body_; }

 private:
  Body body_;
};

/// A filter's body with its home: a place, or a function of the item.
template <class Body, class Home>
class placed_body : public body_part<Body> {
 public:
  placed_body(Body body, Home home) : body_part<Body>(std::move(body)), home_(std::move(home)) {}

  /// See item_home.
  template <class Input>
  static std::uint32_t home_before(const void* placed, void* item) {
    const Home& home = static_cast<const placed_body*>(placed)->home_;
    place where;
    if constexpr (std::is_same_v<Home, place>) {
      where = home;
    } else {
      using token = d1::token_helper<Input, d1::use_allocator<Input>::value>;
      typename token::pointer passed = token::cast_from_void_ptr(item);
      where = on(std::invoke(home, std::as_const(token::token(passed))));
    }
    return address_of(where, "on").value_or(no_home);
  }

 private:
  Home home_;
};

}  // namespace detail

/// A filter's body that runs in a domain: for tbb::make_filter, tbb::filter, or tbb::parallel_pipeline's filters.
///
/// `home` is a domain, its number (both < domain_count() when the pipeline runs, or it is a programmer's error), or an
/// std::optional of a domain, where none means anywhere. A first filter with a home has its items made there.
/// Ownership: of copies of both, as tbb::make_filter of its body.
template <detail::address Where, class Body>
[[nodiscard]] auto on(Where home, Body body) {
  return detail::placed_body<Body, place>(std::move(body), on(home));
}

/// The same with a home for each item: `home_of(item)` gives one of what the other form takes. Not for a first filter.
///
/// Threads: home_of is called by several at once, before the body and on any thread; at least once for each item, and
///          never on stock oneTBB.
/// Errors:  an exception that leaves home_of ends the pipeline as one of the body does.
template <class HomeOf, class Body>
  requires(!detail::address<HomeOf>)
[[nodiscard]] auto on(HomeOf home_of, Body body) {
  return detail::placed_body<Body, HomeOf>(std::move(body), std::move(home_of));
}

}  // namespace homing

namespace tbb::detail::d1 {

/// oneTBB's leaf of a chain for a body with a home: it makes the same filter as for the body alone, and tells our
/// runtime.
template <typename Input, typename Output, typename Body, typename Home>
class filter_node_leaf<Input, Output, homing::detail::placed_body<Body, Home>> : public filter_node {
  using placed_body = homing::detail::placed_body<Body, Home>;
  static_assert(!std::is_void_v<Input> || std::is_same_v<Home, homing::place>,
                "a first filter has no item yet that could have a home: give it a domain");

 public:
  filter_node_leaf(unsigned int mode, const placed_body& placed) : mode_(mode), placed_(placed) {}

 private:
  base_filter* create_filter() const override {
    using filter_type = concrete_filter<Input, Output, Body>;
    const homing::detail::tasks_door* const open = homing::detail::door();
    base_filter* const made = new (r1::allocate_memory(sizeof(filter_type))) filter_type(mode_, placed_.own_body());
    if (open != nullptr) {
      open->place_filter(made, &placed_body::template home_before<Input>, &placed_);
    }
    return made;
  }

  const unsigned int mode_;
  const placed_body placed_;
};

}  // namespace tbb::detail::d1
