/// Who has leased how many workers of which domains, and how many the next one gets.
///
/// Leases share fairly: who asks gets what is free, up to the share that it would have if all leases were dealt anew,
/// one worker each in turn. Nothing is taken from a lease that lives; it gives its surplus back when it asks again.
///
/// Ownership: of its records. Threads: the resource manager's lock guards all of it.
/// Protocol:  docs/protocols/arena.md [A13].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace homing::scheduler {

/// One number a domain.
using domain_counts = std::vector<std::uint32_t>;

struct lease_wish {
  std::uint32_t workers_max = 0;                                      ///< beside the asking thread
  enum class source : std::uint8_t { any, idle } from = source::any;  ///< idle: only workers that are in no arena
  std::vector<bool> domains;  ///< whether workers may come from it; one a domain
};

/// The thread that asks: it is part of its own lease.
struct lessee {
  std::uint32_t domain = 0;
  bool is_worker = false;  ///< then it is one of the workers that there are, and stays with its arena
};

struct worker_supply {
  domain_counts cpus;
  domain_counts allowed;  ///< workers that there are
  domain_counts active;   ///< of these, how many are in arenas
};

class lease_book {
 public:
  explicit lease_book(unsigned domain_count) : leased_(domain_count, 0) {}

  /// Returns the number of a new lease, unique in this process and its parents, never 0. Errors: std::bad_alloc.
  [[nodiscard]] std::uint64_t take(const lease_wish& wish, const lessee& who, const worker_supply& supply);
  /// Deals anew for a lease. False if there is none of that number. Errors: std::bad_alloc; it is as it was then.
  bool renew(std::uint64_t number, const lessee& who, const worker_supply& supply);
  /// False if there was none of that number.
  bool end(std::uint64_t number) noexcept;
  /// The workers of a lease; null if there is none of that number. Until the next call that changes the book.
  [[nodiscard]] const domain_counts* find(std::uint64_t number) const noexcept;
  /// The workers of all leases together.
  [[nodiscard]] const domain_counts& leased() const noexcept { return leased_; }
  [[nodiscard]] std::uint32_t leased_total() const noexcept;

 private:
  struct record {
    std::uint64_t number = 0;
    lease_wish wish;
    lessee who;
    domain_counts workers;
  };
  [[nodiscard]] std::uint32_t fair_share(const record& of, const worker_supply& supply) const;
  void deal(record& to, const worker_supply& supply);

  std::vector<record> leases_;  ///< the oldest first
  domain_counts leased_;
};

}  // namespace homing::scheduler
