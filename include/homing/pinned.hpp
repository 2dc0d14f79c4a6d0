/// Pinned sections: a computation, and all that it spawns, that stays in one domain.
///
///   const double norm = homing::pinned(home_of(block), [&] { return norm_of(block); });     // with its parallel loops
///
/// Where homing::on() is a hint that balance overrides, a pinned section runs with the threads of its domain and no
/// others, however idle those are: for data so far from all others that help would cost more than it gives.
///
/// Source: the pinned runtime of "Locality-aware task scheduling", section 3.1; TBB-NUMA 4.2.
#pragma once

#include <homing/detail/unbound.hpp>
#include <homing/tasks.hpp>
#include <homing/topology.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace homing {
namespace detail {

/// The calling thread is one of that domain's while this lives: for the kernel and for the scheduler.
class domain_stay {
 public:
  explicit domain_stay(domain_index domain)
      : bound_(topology::current(), domain), before_(door()->move_to(to_index(domain) | domain_is_fixed)) {
    if (bound_.error_number() != 0) tell_unbound(bound_.error_number());
  }
  domain_stay(const domain_stay&) = delete;
  domain_stay& operator=(const domain_stay&) = delete;
  ~domain_stay() { door()->move_to(before_); }

 private:
  topology::bound_thread bound_;
  std::uint32_t before_;
};

/// Whether the calling thread is of the domain for good, so that it needs no binding. Another thread that is there now
/// may be moved by the kernel at any time.
[[nodiscard]] inline bool stays_in(domain_index domain) {
  if (current_domain() != domain) return false;
  const std::uint32_t before = door()->move_to(to_index(domain) | domain_is_fixed);
  door()->move_to(before);
  return (before & domain_is_fixed) != 0;
}

}  // namespace detail

/// An arena whose workers are all of one domain, for several pinned sections in a row; pinned() makes one each time.
///
/// Ownership: of the arena; tasks that are left behind are run nevertheless. A copy is an arena of its own in the same
///            domain.
/// Threads:   any, several at once.
/// If the limit on threads leaves the domain no worker, the caller works alone, but for what is enqueued or resumed
/// there: one worker moves to the domain for that, and helps while it is there. Without our libtbb.so.12 it is an arena
/// like any other.
class domain_arena {
 public:
  /// At most `max_concurrency` threads; as many as the domain has CPUs if not given. An absent domain is a programmer's
  /// error.
  explicit domain_arena(domain_index domain, int max_concurrency = tbb::task_arena::automatic)
      : domain_(domain), max_concurrency_(max_concurrency), arena_(max_concurrency, 1) {
    if (const auto address = detail::address_of(on(domain), "domain_arena")) {
      detail::door()->initialize_in(&arena_, *address);
    }
  }
  domain_arena(const domain_arena& other) : domain_arena(other.domain_, other.max_concurrency_) {}
  domain_arena& operator=(const domain_arena&) = delete;
  ~domain_arena() = default;
  [[nodiscard]] domain_index domain() const noexcept { return domain_; }

  /// Runs `f` there, as task_arena::execute(): its value, or its exception, is the caller's. A caller that is neither a
  /// worker of this domain nor in a pinned section of it is bound to its CPUs until the end: a few system calls. If the
  /// kernel refuses, it runs where it is, current_domain() counts it there all the same, and one line on stderr says
  /// so, once in a process.
  template <class F>
  auto execute(F&& f) -> std::invoke_result_t<F> {
    using value = std::invoke_result_t<F>;
    const auto there = [this](const auto& body) { arena_.execute(body); };
    if (detail::door() == nullptr || detail::stays_in(domain_)) {
      return detail::value_through<value>(std::forward<F>(f), there);
    }
    const detail::domain_stay stay(domain_);
    return detail::value_through<value>(std::forward<F>(f), there);
  }

 private:
  domain_index domain_;
  int max_concurrency_;
  tbb::task_arena arena_;
};

/// Runs `f` with the threads of one domain only, and all that it spawns: see domain_arena.
template <class F>
auto pinned(domain_index domain, F&& f) -> std::invoke_result_t<F> {
  return domain_arena(domain).execute(std::forward<F>(f));
}
template <class F>
auto pinned(std::uint32_t domain, F&& f) -> std::invoke_result_t<F> {
  return pinned(domain_index{domain}, std::forward<F>(f));
}

}  // namespace homing
