/// How many workers each arena may have, and of which domains: by priority, one each, then in proportion to demand.
///
/// A computation and nothing else: it knows no thread, no lock and no clock, and takes no memory after reserve(). [A16]
/// Use:       begin(), then for each level of priority, highest first: begin_level(), offer() for each arena in the
///            order of turns while has_left(), end_level(); then end(), and the portions are final.
/// Ownership: of its own numbers; what a demand refers to is its maker's, until end().
/// Threads:   one at a time.
/// Protocols: docs/protocols/arena.md [A12], [A13], [A17], [A22].
/// Source:    TBB-NUMA 4.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/machine.hpp"

namespace homing::scheduler {

class arena;

/// What there is in one domain.
struct domain_supply {
  int planned = 0;          ///< workers that are dealt to it, of those that may be made
  int leased = 0;           ///< of these, those that arenas may not have; more than all if the limit fell since
  unsigned cpus = 0;        ///< that can be used now
  bool has_caller = false;  ///< the application's first thread counts there: one worker fewer was dealt to it
};

/// So many workers to domains, by the smallest (dealt + 1) / CPUs: round-robin in proportion. Reads `cpus` and
/// `has_caller`, of one domain, in which the application's thread counts as the first; writes `planned`. So the default
/// number of threads is one a CPU everywhere. (TBB-NUMA 4.1)
void deal_workers(unsigned count, std::span<domain_supply> domains) noexcept;

/// What one arena asks for. By domain, where it is a span.
struct arena_demand {
  arena* whose = nullptr;          ///< a name: not looked into
  std::span<const unsigned> cpus;  ///< that it may use
  std::span<const int> present;    ///< workers that it has
  std::span<const int> searching;  ///< of these, those that look for work; of no interest if it has more
  std::span<int> share;            ///< written: workers that it is given
  unsigned workers_max = 0;        ///< 0: none but a mandatory one
  unsigned workers = 0;            ///< that it has, in all
  bool has_more = true;            ///< false: its tasks have all been taken; it keeps the workers that run them [A22]
  bool is_mandatory = false;       ///< it has something that must be run even where no worker is allowed
  bool is_of_one_domain = false;   ///< a pinned section's [A12]
};

class allotment {
 public:
  explicit allotment(unsigned domain_count) : domains_(domain_count) {}

  /// Makes room for so many arenas. Errors: std::bad_alloc.
  void reserve(std::size_t arenas);

  /// With none left for arenas, one is dealt all the same, to who must have one.
  void begin(std::span<const domain_supply> supply, unsigned allottable) noexcept;
  [[nodiscard]] bool has_left() const noexcept { return left_ != 0; }
  /// Whether an arena may have one worker only, and only while it must: none is allowed, or none of the one domain that
  /// its tasks must run in. [A12]
  [[nodiscard]] bool gives_mandatory_only(std::span<const unsigned> cpus, bool is_of_one_domain) const noexcept;

  void begin_level() noexcept;
  /// The next arena of the level, by turns. Each gets one first: nobody starves.
  void offer(const arena_demand& demand) noexcept;
  /// `more`: there are arenas of this level that were not offered, since nothing was left. Deals what is left.
  struct level_result {
    bool is_crowded = false;  ///< one arena more of this level would get no worker
    bool has_losers = false;  ///< some arena that wants workers has none
  };
  [[nodiscard]] level_result end_level(bool more) noexcept;
  /// [A22] What is left goes to those whose workers look for work, so that these go on looking where they are.
  void end() noexcept;

  /// Who got workers, or has some that look for work; by level. `given` and the shares are final after end().
  struct portion {
    arena_demand of;
    unsigned wanted = 0;
    unsigned spare = 0;  ///< workers that it has and that look for work: its own if nobody else wants them [A22]
    unsigned given = 0;
    bool is_trimmed = false;             ///< wanted less than it may have
    bool is_homeless = false;            ///< none of its domains has a worker, under the present limit
    bool is_mandatory = false;           ///< for mandatory concurrency only
    std::optional<unsigned> moves_to{};  ///< the domain that its worker comes to from elsewhere [A12]
  };
  [[nodiscard]] std::span<const portion> portions() const noexcept { return portions_; }
  /// Of the level that was ended last.
  [[nodiscard]] std::span<const portion> portions_of_level() const noexcept {
    return portions().subspan(first_of_level_);
  }

  /// Some arena could use more than it got, and another may come to need less. One that is alone has all there is.
  [[nodiscard]] bool is_unmet() const noexcept { return has_losers_ || (wants_more_ && portions_.size() > 1); }
  /// Workers of a domain that all arenas together got.
  [[nodiscard]] int promised(unsigned domain) const noexcept { return domains_[domain].dealt - domains_[domain].left; }

 private:
  struct domain_state {
    int dealt = 0;  ///< what `left` began with; below 0 if the limit fell under the leases
    int left = 0;
    int spare = 0;      ///< so many more may come from elsewhere: `left` may fall so far below 0
    unsigned cpus = 0;  ///< that can be used now
  };
  [[nodiscard]] static int spare_places(const domain_supply& supply) noexcept;
  [[nodiscard]] bool is_homeless(std::span<const unsigned> cpus) const noexcept;
  [[nodiscard]] unsigned domain_count() const noexcept { return static_cast<unsigned>(domains_.size()); }
  [[nodiscard]] std::optional<unsigned> domain_to_move_to(const arena_demand& section) const noexcept;
  [[nodiscard]] bool can_hand_out(const portion& p, unsigned domain) const noexcept;
  void hand_out(portion& p, unsigned domain) noexcept;
  void keep_workers(portion& p) noexcept;
  void give(portion& p, std::uint64_t count) noexcept;
  [[nodiscard]] std::span<portion> level() noexcept { return std::span(portions_).subspan(first_of_level_); }
  [[nodiscard]] bool is_better(const portion& p, unsigned domain, unsigned than) const noexcept;
  [[nodiscard]] std::optional<unsigned> next_domain_for(const portion& p) const noexcept;
  void share_out() noexcept;
  void even_out() noexcept;
  void swap_with_others(portion& p, unsigned from, unsigned to) noexcept;

  std::vector<domain_state> domains_;
  unsigned left_ = 0;  ///< of all domains; each has its own count
  bool only_mandatory_ = false;
  bool has_losers_ = false;  ///< an arena got none
  bool wants_more_ = false;  ///< one that got some
  bool without_ = false;     ///< an arena of this level got none
  std::vector<portion> portions_;
  std::size_t first_of_level_ = 0;  ///< among the portions
};

}  // namespace homing::scheduler
