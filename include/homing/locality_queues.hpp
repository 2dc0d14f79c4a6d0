/// Locality queues: a thin layer that gives any task system a sense of place. One queue a domain; a task is a *ticket*
/// for one entry, whichever is nearest to the thread that happens to run it.
///
///   homing::locality_queues<block> queues;                  // the domains of this machine
///   queues.enqueue(home_of(b), b);                          // first the entry,
///   submit([&] { sweep(queues.dequeue().item); });          // then one ticket for it: OpenMP, TBB, std::thread, ...
///
/// Scheduling stays dynamic inside a domain, and balance goes before locality: a thread whose own queue is empty takes
/// from the others, nearest first. <homing/openmp.hpp> submits OpenMP tasks; through_queues() is a body for loops of
/// TBB or of anything else.
///
/// Source: Wittmann and Hager, "Optimizing ccNUMA locality for task-parallel execution under OpenMP and TBB on
/// multicore-based systems", sections 2.2 and 3.2; docs/protocols/locality_queues.md [L1] to [L3].
#pragma once

#include <homing/detail/fault.hpp>
#include <homing/ids.hpp>
#include <homing/topology.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing {
namespace detail {

inline void expects_queue(const topology::snapshot& machine, domain_index home) {
  expects(to_index(home) < machine.domains().size(), "locality_queues::enqueue",
          "no such domain; the machine that the queues were made for has fewer");
}

}  // namespace detail

/// Where a thread is when it takes an entry: found at run time, so that threads may be pinned or not.
struct running_domain {
  [[nodiscard]] domain_index operator()() const noexcept { return topology::current_domain(); }
};

/// Entries sorted by home. `Where` is called without arguments on the thread that asks, and names its domain.
///
/// Ownership: of the entries, until they are taken; those left at the end are destroyed.
/// Threads:   every call but the constructors and the destructor from any thread, of any threading.
/// Order:     of entries with the same home, first in, first out: the order of submission is the caller's.
/// Errors:    enqueue() throws std::bad_alloc, or what T's move throws, and has then done nothing. A home that the
///            machine does not have is a programmer's error. dequeue() never fails.
template <class T, class Where = running_domain>
class locality_queues {
  // An entry that was taken and then lost to an exception would leave its ticket without one.
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "locality_queues: entries must be movable and destructible without exceptions; queue indices or "
                "pointers");

 public:
  using value_type = T;
  struct entry {
    T item;
    domain_index home;      ///< as given to enqueue()
    domain_index taken_in;  ///< where the taker was; the domain to count the work for
    [[nodiscard]] bool is_at_home() const noexcept { return home == taken_in; }
  };

  /// One queue for each domain of the machine.
  explicit locality_queues(topology::snapshot machine = topology::current(), Where where = Where())
      : machine_(std::move(machine)),
        where_(std::move(where)),
        queues_(std::make_unique<queue[]>(machine_.domains().size())) {}
  locality_queues(const locality_queues&) = delete;
  locality_queues& operator=(const locality_queues&) = delete;

  /// Appends an entry. Then, and not before, its ticket may be submitted.
  void enqueue(domain_index home, T item) {
    detail::expects_queue(machine_, home);
    queues_[to_index(home)].put(std::move(item));
  }
  /// The same, at home where the calling thread is.
  void enqueue(T item) { enqueue(here(), std::move(item)); }

  /// Redeems a ticket: takes the oldest entry of the calling thread's domain, or else of the nearest domain that has
  /// one. With as many calls as entries, no call waits for ever; one too many waits until somebody enqueues.
  [[nodiscard]] entry dequeue() noexcept {
    for (;;) {
      // [L3] after a round without success another ticket has been redeemed; ask anew where we are.
      if (std::optional<entry> taken = try_dequeue()) return std::move(*taken);
      std::this_thread::yield();
    }
  }

  /// One round over all queues: nothing if they were empty, or if others were faster.
  [[nodiscard]] std::optional<entry> try_dequeue() noexcept {
    const domain_index taken_in = here();
    for (const domain_index home : machine_.nearest_first(taken_in)) {  // [L2] itself first
      if (std::optional<T> item = queues_[to_index(home)].take()) return entry{std::move(*item), home, taken_in};
    }
    return std::nullopt;
  }

  /// Entries of one home, and of all; others may come and go meanwhile.
  [[nodiscard]] std::size_t size(domain_index home) const noexcept {
    return to_index(home) < machine_.domains().size() ? queues_[to_index(home)].size() : 0;
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (const topology::domain_info& d : machine_.domains()) sum += size(d.index);
    return sum;
  }
  [[nodiscard]] const topology::snapshot& machine() const noexcept { return machine_; }

 private:
  // A lock that sleeps: with more threads than CPUs the holder may have lost its CPU.
  class alignas(128) queue {  // two cache lines: queues of different domains share none, prefetched ones included
   public:
    void put(T item) {
      const std::lock_guard hold(lock_);
      entries_.push_back(std::move(item));
      // [L1] relaxed: who reads a count that is not 0 takes the lock, which tells the same.
      count_.store(entries_.size(), std::memory_order_relaxed);
    }
    std::optional<T> take() noexcept {
      // [L2] acquire: who reads 0 knows of the takings that made it 0. Spares empty queues the lock.
      if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
      const std::lock_guard hold(lock_);
      if (entries_.empty()) return std::nullopt;
      std::optional<T> item(std::move(entries_.front()));
      entries_.pop_front();
      count_.store(entries_.size(), std::memory_order_release);  // [L2] release: to the load above
      return item;
    }
    // relaxed: a figure for people.
    [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

   private:
    std::mutex lock_;
    std::deque<T> entries_;              // under lock_
    std::atomic<std::size_t> count_{0};  // of entries_, written under lock_
  };

  // One domain needs no asking. A machine that was refreshed since may have more domains: then the first will do, and
  // only nearness is lost.
  [[nodiscard]] domain_index here() const noexcept {
    const std::size_t domains = machine_.domains().size();
    if (domains == 1) return domain_index{0};
    const domain_index found = where_();
    return to_index(found) < domains ? found : domain_index{0};
  }

  topology::snapshot machine_;
  Where where_;
  std::unique_ptr<queue[]> queues_;
};

/// A loop body that goes through queues: for each subrange that the loop gives out, it enqueues the subrange's items,
/// and then takes as many entries, near ones by preference, and calls `body(entry)` for each. Made by through_queues().
/// With one domain there is nothing to choose: then each subrange's items are its own, in their order, and touch no
/// queue, so that neighbours stay with one thread and its caches.
///
/// Threads: copies may run at the same time, as loop templates do it. Each loop has queues of its own.
/// Errors: an exception of `body` or of `items` passes through; as many entries as this subrange still owed are taken
///         and dropped, so that the count of tickets and entries agrees, as a cancelled loop drops its iterations.
template <class Queues, class Items, class Body>
class queued_body {
 public:
  queued_body(Queues& queues, Items items, Body body)
      : queues_(&queues), items_(std::move(items)), body_(std::move(body)) {}

  template <class Range>
  void operator()(const Range& part) const {
    if (queues_->machine().domains().size() == 1) return past_queues(part);
    tickets owed(*queues_);
    items_(part, [&owed](domain_index home, typename Queues::value_type item) { owed.buy(home, std::move(item)); });
    while (owed.any()) body_(owed.redeem());
  }

 private:
  template <class Range>
  void past_queues(const Range& part) const {
    std::vector<typename Queues::entry> mine;
    items_(part, [&](domain_index home, typename Queues::value_type item) {
      detail::expects_queue(queues_->machine(), home);
      mine.push_back({std::move(item), home, home});
    });
    for (typename Queues::entry& e : mine) body_(std::move(e));
  }

  class tickets {
   public:
    explicit tickets(Queues& queues) noexcept : queues_(queues) {}
    tickets(const tickets&) = delete;
    tickets& operator=(const tickets&) = delete;
    ~tickets() {
      while (any()) static_cast<void>(redeem());
    }
    void buy(domain_index home, typename Queues::value_type item) {
      queues_.enqueue(home, std::move(item));
      ++count_;
    }
    [[nodiscard]] bool any() const noexcept { return count_ > 0; }
    [[nodiscard]] typename Queues::entry redeem() noexcept {
      --count_;
      return queues_.dequeue();
    }

   private:
    Queues& queues_;
    std::size_t count_ = 0;
  };

  Queues* queues_;
  Items items_;
  Body body_;
};

/// `items(part, put)` calls put(home, item) for each item of a subrange, in the order that it likes; `body(entry)` does
/// the work. Both are called on const objects, by any number of threads. The queues outlive the loop.
///
///   tbb::parallel_for(tbb::blocked_range<int>(0, n), homing::through_queues(queues,
///       [&](const auto& part, auto put) { for (int i = part.begin(); i != part.end(); ++i) put(home[i], i); },
///       [&](const auto& taken) { work(taken.item); }));
template <class Queues, class Items, class Body>
[[nodiscard]] queued_body<Queues, Items, Body> through_queues(Queues& queues, Items items, Body body) {
  return {queues, std::move(items), std::move(body)};
}

}  // namespace homing
