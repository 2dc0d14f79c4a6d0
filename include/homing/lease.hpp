/// A lease of threads: what an OpenMP region, a thread pool or another runtime takes from the scheduler and gives back,
/// so that the two do not run more threads than there are.
///
///   const homing::lease threads(8);                   // up to 8, the calling one included
///   for (std::uint32_t i = 1; i < threads.threads(); ++i) pool.start(threads.domain_of(i));
///
/// While a lease of n threads lives, TBB's arenas on our libtbb.so.12 are allotted n - 1 fewer workers, domain by
/// domain; when it ends they get them back. Other application threads that use TBB come on top. On another
/// libtbb.so.12, or with none, a lease grants all that it is asked for, and is_managed() is false. It need not be the
/// lessee who uses TBB. <homing/openmp_lease.hpp> runs OpenMP regions on a lease.
///
/// Needs linking to libhoming, and no TBB.
/// Source: TBB-NUMA 3.4 and figure 4(b) (an OpenMP runtime that is registered with the RML), 4.2.
#pragma once

#include <homing/detail/deal_threads.hpp>
#include <homing/detail/fault.hpp>
#include <homing/detail/tasks_door.hpp>
#include <homing/domain_set.hpp>
#include <homing/ids.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace homing {

/// Out of which threads a lease is granted.
///
/// any:  of all that there are. Workers at work leave at their next look for a task, as when global_control lowers the
///       limit: nobody is interrupted, and nobody waits for them, so for the length of a task there may be more threads
///       than CPUs. is_clear() says when they have gone.
/// idle: of those that no arena uses at this moment; the rest is not granted.
using detail::lease_source;

/// The threads themselves are the owner's: a lease is the right to run so many.
///
/// Grant:     never below one, the calling thread's own. Leases that live at once share fairly: who asks gets what is
///            free, up to an equal share. None is taken from a lease that lives; renew() gives its surplus back.
///            Together they never have more workers than global_control allows; a limit that falls later applies when
///            they renew. With all workers leased, enqueued tasks still get one.
/// Ownership: ends with the object, on any thread. In the child of a fork, a managed lease of before the fork is
///            nothing: one thread. It survives tbb::finalize(), which it does not hold up.
/// Threads:   made, ended, and used for different leases by any; of one lease, const calls by any at once.
/// Errors:    std::bad_alloc from the constructors and renew(). Asking for no thread, or for a domain that there is
///            not, is a programmer's error.
/// Protocol:  docs/protocols/arena.md [A13].
class [[nodiscard]] lease {
 public:
  /// As many threads as there are.
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] explicit lease(std::uint32_t threads_max = all, lease_source from = lease_source::any)
      : machine_(topology::current()), wanted_(threads_max), from_(from), domains_(count_domains()) {
    for (std::uint32_t d = 0; d < domains_; ++d) may_come_from_[d] = true;
    take();
  }
  /// Of these domains, the calling thread excepted: it is where it is.
  [[nodiscard]] lease(std::uint32_t threads_max, const domain_set& domains, lease_source from = lease_source::any)
      : machine_(topology::current()), wanted_(threads_max), from_(from), domains_(count_domains()) {
    for (std::uint32_t i = 0; i < domains.size(); ++i) {
      detail::expects(to_index(domains[i]) < domains_, "lease", "there is no such domain; see lease::domain_count()");
      may_come_from_[to_index(domains[i])] = true;
    }
    take();
  }
  lease(lease&& other) noexcept
      : machine_(other.machine_),
        wanted_(other.wanted_),
        from_(other.from_),
        domains_(other.domains_),
        may_come_from_(std::move(other.may_come_from_)),
        granted_(std::move(other.granted_)),
        number_(std::exchange(other.number_, ended)),
        own_(other.own_) {}
  lease& operator=(lease&& other) noexcept {
    if (this != &other) {
      end();
      machine_ = other.machine_;
      wanted_ = other.wanted_;
      from_ = other.from_;
      domains_ = other.domains_;
      may_come_from_ = std::move(other.may_come_from_);
      granted_ = std::move(other.granted_);
      number_ = std::exchange(other.number_, ended);
      own_ = other.own_;
    }
    return *this;
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  ~lease() { end(); }

  /// Threads that may run, the one that asked included: >= 1. Of a lease that has ended, or was moved from: 1.
  [[nodiscard]] std::uint32_t threads() const noexcept {
    return holds() ? std::accumulate(granted_.get(), granted_.get() + domains_, std::uint32_t{0}) : 1;
  }
  /// How many of them in this domain.
  [[nodiscard]] std::uint32_t threads_in(domain_index domain) const noexcept {
    detail::expects(to_index(domain) < domains_, "lease::threads_in", "there is no such domain; see domain_count()");
    return holds() ? granted_[to_index(domain)] : (domain == own_ ? 1 : 0);
  }
  /// Where thread 0 <= i < threads() belongs: 0 is the thread that asked, where it was then, and its neighbours are of
  /// its domain. Beyond threads(): as if counted round and round.
  [[nodiscard]] domain_index domain_of(std::uint32_t thread) const noexcept {
    const std::uint32_t count = threads();
    if (count == 1) return own_;
    std::uint32_t before = thread % count;
    std::uint32_t d = to_index(own_);
    while (before >= granted_[d]) {
      before -= granted_[d];
      d = (d + 1) % domains_;
    }
    return domain_index{d};
  }
  /// The domains that threads are counted by: those of the scheduler, or of topology::current() where none manages.
  [[nodiscard]] std::uint32_t domain_count() const noexcept { return domains_; }

  /// False if nobody manages threads here (another libtbb.so.12, or none): everything asked for was granted.
  [[nodiscard]] bool is_managed() const noexcept { return number_ != ended && number_ != unmanaged; }
  /// False while some arena has a worker that is to leave: a hint, for those who want to wait in their own way. The
  /// wait is as long as the tasks at work, and never ends if one of them waits for the caller.
  [[nodiscard]] bool is_clear() const noexcept {
    return !is_managed() || detail::lease_door()->state_of_lease(number_) != detail::lease_state::crowded;
  }

  /// Asks again, between two regions: gives up what others should have, takes what has come free, and follows the
  /// calling thread to its domain. On failure, an exception, all is as before. Nothing happens to a lease that has
  /// ended.
  void renew() {
    if (is_managed()) {
      auto granted = std::make_unique<std::uint32_t[]>(domains_);
      std::uint32_t own = 0;
      if (detail::lease_door()->renew_lease(number_, granted.get(), &own)) {
        granted_ = std::move(granted);
        own_ = domain_index{own};
      }
    } else if (number_ == unmanaged) {
      take();  // somebody may have loaded a scheduler since
    }
  }
  /// Gives the threads back now; they must not run any more.
  void end() noexcept {
    if (is_managed()) detail::lease_door()->end_lease(number_);
    number_ = ended;
  }

 private:
  static constexpr std::uint64_t ended = 0;
  static constexpr std::uint64_t unmanaged = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::uint32_t count_domains() const {
    const detail::tasks_door* const door = detail::lease_door();
    return door != nullptr ? door->domain_count : static_cast<std::uint32_t>(machine_.domains().size());
  }
  [[nodiscard]] bool holds() const noexcept {
    return number_ == unmanaged ||
           (is_managed() && detail::lease_door()->state_of_lease(number_) != detail::lease_state::none);
  }
  void take() {
    detail::expects(wanted_ != 0, "lease", "no thread asked for; the calling one is part of the lease");
    const detail::tasks_door* const door = detail::lease_door();
    if (door != nullptr && door->domain_count == domains_) {
      std::uint32_t own = 0;
      number_ = door->take_lease(wanted_, from_, may_come_from_.get(), granted_.get(), &own);
      own_ = domain_index{own};
    } else {
      grant_all();
      number_ = unmanaged;
    }
  }
  /// Nobody manages: all that was asked for, or one thread a CPU, spread in the same way.
  void grant_all() {
    std::vector<std::uint32_t> cpus(domains_);
    std::vector<std::uint32_t> left(domains_, 0);
    auto granted = std::make_unique<std::uint32_t[]>(domains_);
    domain_index own = topology::current_domain();
    if (to_index(own) >= domains_) own = domain_index{0};  // of a machine that was read anew since
    granted[to_index(own)] = 1;
    std::uint32_t cpus_in_reach = 1;  // the calling thread's
    for (std::uint32_t d = 0; d < domains_; ++d) {
      cpus[d] = static_cast<std::uint32_t>(machine_.at(domain_index{d}).cpus.size());
      if (may_come_from_[d]) {
        cpus_in_reach += cpus[d] - (domain_index{d} == own ? 1 : 0);
        left[d] = all;
      }
    }
    const std::uint32_t count = wanted_ == all ? std::min(cpus_in_reach, machine_.default_concurrency()) : wanted_;
    detail::deal_threads(count - 1, cpus, left, {granted.get(), domains_});
    granted_ = std::move(granted);
    own_ = own;
  }

  topology::snapshot machine_;
  std::uint32_t wanted_;
  lease_source from_;
  std::uint32_t domains_;
  std::unique_ptr<bool[]> may_come_from_ = std::make_unique<bool[]>(domains_);
  std::unique_ptr<std::uint32_t[]> granted_ = std::make_unique<std::uint32_t[]>(domains_);
  std::uint64_t number_ = ended;
  domain_index own_{0};
};

}  // namespace homing
