// How a recursive program forks: not at all, by homing::fork_join() with values or references, or by a task_group.
//
// A style has three ways: both(f, g) gives two values, each(f, g) runs two branches, children(n, body) a node's.
#pragma once

#include <oneapi/tbb/task_group.h>
#include <homing/fork_join.hpp>

#include <cstddef>
#include <utility>

namespace bench {

/// The last of a function's calls stays one: the compiler can't turn it into a loop.
template <typename Value>
Value opaque(Value value) noexcept {
  asm volatile("" : "+m"(value));
  return value;
}

/// Calls, each of them a real one.
struct serial_calls {
  template <typename F, typename G>
  static auto both(F f, G g) {
    const auto left = f();
    const auto right = g();
    return std::pair(left, right);
  }
  template <typename F, typename G>
  static void each(F f, G g) {
    f();
    g();
  }
  template <typename Body>
  static void children(std::size_t count, Body body) {
    for (std::size_t child = 0; child < count; ++child) body(child);
  }
};

struct forks_of_values {
  template <typename F, typename G>
  [[gnu::always_inline]] static auto both(F&& f, G&& g) {
    return homing::fork_join(std::forward<F>(f), std::forward<G>(g));
  }
  template <typename F, typename G>
  [[gnu::always_inline]] static void each(F&& f, G&& g) {
    homing::fork_join(std::forward<F>(f), std::forward<G>(g));
  }
  template <typename Body>
  [[gnu::always_inline]] static void children(std::size_t count, Body body) {
    homing::for_children(std::size_t{0}, count, body);
  }
};

/// Branches refer to the caller's variables, as oneTBB's users write them.
struct forks_by_reference : forks_of_values {
  template <typename F, typename G>
  [[gnu::always_inline]] static auto both(const F& f, const G& g) {
    std::pair<decltype(f()), decltype(g())> values{};
    homing::fork_join([&] { values.first = f(); }, [&] { values.second = g(); });
    return values;
  }
};

struct task_groups {
  template <typename F, typename G>
  static auto both(const F& f, const G& g) {
    std::pair<decltype(f()), decltype(g())> values{};
    tbb::task_group group;
    group.run([&] { values.first = f(); });
    values.second = g();
    group.wait();
    return values;
  }
  template <typename F, typename G>
  static void each(const F& f, const G& g) {
    tbb::task_group group;
    group.run([&] { f(); });
    g();
    group.wait();
  }
  template <typename Body>
  static void children(std::size_t count, const Body& body) {
    tbb::task_group group;
    for (std::size_t child = 1; child < count; ++child) {
      group.run([&body, child] { body(child); });
    }
    if (count != 0) body(0);
    group.wait();
  }
};

}  // namespace bench
