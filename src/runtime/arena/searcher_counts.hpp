/// How many threads look for work in an arena: counted by domain, so that a search that begins or ends writes a line
/// that only the threads of its domain share. Between domains there is one count more, of the domains where somebody
/// searches. It changes when a domain's first thread begins or its last one stops.
///
/// Each count is two in one word, of threads in outermost loops and of those in nested waits. [S14]
/// Ownership: the arena's; the lines are in its block.
/// Threads:   any.
/// Protocol:  docs/protocols/sleep.md [S2], [S3], [S4], [S14], [S16].
#pragma once

#include <algorithm>
#include <span>

#include "platform/check.hpp"
#include "runtime/task/search_scope.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

class searcher_counts {
 public:
  struct alignas(sync::cache_line_bytes) line {
    sync::atomic<int> count{0};
  };

  /// Nobody searches. A line for each domain.
  explicit searcher_counts(std::span<line> lines) noexcept : domains_(lines) {}

  /// What a thread leaves that has stopped.
  struct stopped {
    bool last_of_domain = false;  ///< nobody of its domain searches any more
    bool last = false;            ///< nobody in the arena does
    bool last_outer = false;      ///< nested ones go on, but nobody who takes enqueued tasks does
    bool last_outer_of_domain = false;
  };

  /// `weight`: weight_of() the thread's scope. A thread's own, or a waker's on behalf of the thread that it wakes. [S4]
  void begin(domain_index domain, int weight) noexcept {
    // relaxed, both: the store-load races of the sleep protocol are ordered by its fences. [S1], [S2]
    const int before = domains_[to_index(domain)].count.fetch_add(weight, sync::relaxed);
    if (of_kind(before, weight) == 0) {
      searching_domains_.fetch_add(weight, sync::relaxed);
    }
  }

  stopped end(domain_index domain, int weight) noexcept {
    // [S16] The domain's count first. release, both: a fence follows [S9], and so the last one of the arena comes after
    // what all others did before they stopped. A thread that is counted may push for others (what it gives back),
    // relying on those who are still counted.
    const int here = domains_[to_index(domain)].count.fetch_sub(weight, sync::release);
    stopped result{.last_of_domain = here == weight,
                   .last_outer_of_domain = here != weight && weight == outer_searcher && outer_searchers(here) == 1};
    check_is_one(here, weight);
    if (of_kind(here, weight) == 1) {
      const int before = searching_domains_.fetch_sub(weight, sync::release);
      check_is_one(before, weight);
      result.last = before == weight;
      result.last_outer = before != weight && weight == outer_searcher && outer_searchers(before) == 1;
    }
    return result;
  }

  /// Of that domain, both kinds.
  [[nodiscard]] int in_domain(domain_index domain) const noexcept {
    return domains_[to_index(domain)].count.load(sync::relaxed);
  }
  /// Of all domains: not 0 while somebody searches whose begin() has ended. The counts of domains, not of threads.
  [[nodiscard]] int domains() const noexcept { return searching_domains_.load(sync::relaxed); }
  /// For who pushes in that domain: not 0 if somebody searches. Its own domain's line is the near one.
  [[nodiscard]] int seen_from(domain_index domain) const noexcept {
    const int here = in_domain(domain);
    return here != 0 ? here : domains();
  }
  /// Threads in outermost loops, of all domains; a hint.
  [[nodiscard]] int outer_in_all() const noexcept {
    int sum = 0;
    for (const line& domain : domains_) {
      sum += outer_searchers(domain.count.load(sync::relaxed));
    }
    return sum;
  }
  /// Threads of all domains, of both kinds; a hint.
  [[nodiscard]] unsigned in_all() const noexcept {
    int sum = 0;
    for (const line& domain : domains_) {
      sum += all_searchers(domain.count.load(sync::relaxed));
    }
    return static_cast<unsigned>(std::max(0, sum));
  }
  /// Whether more than one thread searches, as seen from that domain; a hint.
  [[nodiscard]] bool several(domain_index domain) const noexcept {
    return all_searchers(in_domain(domain)) > 1 || all_searchers(domains()) > 1;
  }

  /// In the child of a fork, where nobody is left.
  void forget() noexcept {
    for (line& domain : domains_) {
      domain.count.store(0, sync::relaxed);
    }
    searching_domains_.store(0, sync::relaxed);
  }

 private:
  static int of_kind(int counts, int weight) noexcept {
    return weight == outer_searcher ? outer_searchers(counts) : counts / nested_searcher;
  }

  /// [S14] Who leaves a count was part of it.
  static void check_is_one(int counts, int weight) noexcept {
    platform::require_hot([&] { return of_kind(counts, weight) > 0; },
                          "S14: a searcher that stops was counted as one of its kind");
  }

  const std::span<line> domains_;
  alignas(sync::cache_line_bytes) sync::atomic<int> searching_domains_{0};
};

}  // namespace homing::scheduler
