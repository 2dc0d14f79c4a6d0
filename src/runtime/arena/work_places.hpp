/// Where work can lie in an arena, and whether there is something for a thread that may take only some of it.
///
/// Places:    each slot has a deque and a mailbox, each domain a mailbox and two queues, and five queues are for all,
///            one of them in shards (figure 7 of the paper has P mailboxes and P + 1 shared queues).
/// Threads:   any; the answers are hints, exact once who pushes and who looks have met a fence.
/// Protocols: docs/protocols/sleep.md [S1], [S3], [S10], [S13], [S14], [S15], mailbox.md [M*].
/// Source:    TBB-NUMA 4.3, 4.4.
#pragma once

#include <algorithm>
#include <bit>
#include <span>

#include "runtime/arena/arena_memory.hpp"
#include "runtime/arena/searcher_counts.hpp"
#include "runtime/arena/slot_hold.hpp"
#include "runtime/settings/steal_policy.hpp"
#include "runtime/task/resume_queue.hpp"
#include "runtime/task/search_scope.hpp"
#include "runtime/task/task_access.hpp"
#include "runtime/task/task_proxy.hpp"
#include "runtime/thread/thread_state.hpp"
#include "sync/mailbox_place.hpp"
#include "sync/work_deque.hpp"

namespace homing::scheduler {

struct alignas(sync::cache_line_bytes) arena_slot {
  sync::work_deque tasks;
  // Searchers of the same domain read these in every round; hardly anybody writes them.
  alignas(sync::cache_line_bytes) slot_hold hold;
  sync::atomic<domain_index> domain{domain_index{}};  ///< of the thread in it
  sync::atomic<std::uint16_t> l3_group{0};            ///< of the thread in it
  domain_index home{};                                ///< that mail to this slot belongs to; fixed
  sync::mailbox_place mail;
  dispatcher* base = nullptr;          ///< with which the thread in it entered; owner only
  sync::atomic<bool> absent{false};    ///< its thread rests where it can't take what lies here [S15]
  sync::atomic<lane*> forks{nullptr};  ///< of the thread in it, if its stay here is the innermost
  // Its thread writes these at the begin of every search.
  alignas(sync::cache_line_bytes) search_flag searching;  ///< its thread looks for work
  sync::atomic<std::int64_t> search_began_ns{0};          ///< when it ran dry last; a hint for those who steal from it
  sync::atomic<std::int64_t> searches_since_ns{0};        ///< when it did so, or came; a hint for allotments [A22]
};

struct alignas(sync::cache_line_bytes) arena_domain {
  sync::atomic<int> active{0};    ///< workers of this domain in the arena or on their way
  sync::atomic<int> allotted{0};  ///< workers of this domain that the arena should have
  sync::atomic<int> absent{0};    ///< of its workers, those that rest where they can't serve it [S15]
  sync::mailbox_place mail;
  unsigned first_slot = 0;  ///< slots whose home this is: [first_slot, last_slot)
  unsigned last_slot = 0;
  task_queue detached;  ///< whoever waits for them may take them
  task_queue enqueued;  ///< for outermost loops only
};

class work_places {
 public:
  struct counts {
    unsigned slots;
    unsigned domains;
  };
  /// What lies in the arena's block.
  [[nodiscard]] static constexpr std::size_t bytes_for(counts c) noexcept {
    return c.slots * sizeof(arena_slot) + c.domains * (sizeof(arena_domain) + sizeof(searcher_counts::line)) +
           shards_for(c.slots) * sizeof(sharded_task_queue::shard) + c.slots * sizeof(mail_room);
  }
  work_places(arena_room& room, counts c, steal_policy steal, idle_rule mailbox_idle) noexcept;
  ~work_places();
  work_places(const work_places&) = delete;
  work_places& operator=(const work_places&) = delete;

  /// Once, before anybody comes: slots are dealt to domains in proportion to the CPUs that may be used in each.
  void deal_slots(std::span<const unsigned> cpus_by_domain) noexcept;

  [[nodiscard]] unsigned slot_count() const noexcept { return slot_count_; }
  [[nodiscard]] unsigned domain_count() const noexcept { return domain_count_; }
  [[nodiscard]] domain_range all_domains() const noexcept { return domain_range(domain_count_); }
  [[nodiscard]] arena_slot& slot(slot_id s) noexcept { return slots_[to_index(s)]; }
  [[nodiscard]] const arena_slot& slot(slot_id s) const noexcept { return slots_[to_index(s)]; }
  [[nodiscard]] std::span<arena_slot> slots() noexcept { return {slots_, slot_count_}; }
  [[nodiscard]] std::span<const arena_slot> slots() const noexcept { return {slots_, slot_count_}; }
  [[nodiscard]] std::span<arena_slot> slots_of(const arena_domain& d) noexcept {
    return {slots_ + d.first_slot, slots_ + d.last_slot};
  }
  [[nodiscard]] arena_domain& domain(domain_index d) noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] const arena_domain& domain(domain_index d) const noexcept { return domains_[to_index(d)]; }
  [[nodiscard]] steal_policy steal() const noexcept { return steal_; }
  [[nodiscard]] idle_rule mailbox_idle() const noexcept { return mailbox_idle_; }
  /// [S10] Whether thieves never leave their domain.
  [[nodiscard]] bool thieves_stay() const noexcept { return stays_; }

  /// The domain that a task's affinity means, which is an address.
  [[nodiscard]] domain_index home_of(affinity a) const noexcept {
    return names_slot(a) ? slots_[to_index(slot_of(a))].home
                         : domain_index{to_number(a) - std::uint32_t{first_domain_affinity}};
  }
  /// Whether it names a slot or a domain that is here.
  [[nodiscard]] bool is_address(affinity a) const noexcept {
    return to_number(a) < slot_count_ ||
           (!names_slot(a) && to_number(a) - std::uint32_t{first_domain_affinity} < domain_count_);
  }
  /// Puts an item for that affinity into its mailbox, which is made at the first post; false if there is no room.
  [[nodiscard]] bool put_into_mailbox(affinity to, std::uintptr_t item, std::uint64_t tag);

  /// True if a task or a stack is there that a thread with this scope could take: one of that domain, or some thread.
  [[nodiscard]] bool has_work(const search_scope& scope, domain_index by_domain) noexcept;
  /// The same without stacks that may go on.
  [[nodiscard]] bool has_task(const search_scope& scope, domain_index by_domain) noexcept;
  /// As has_work(), for a thread that may take everything.
  [[nodiscard]] bool has_work(isolation_tag isolation, domain_index by_domain) noexcept {
    return has_work(search_scope{.isolation = isolation}, by_domain);
  }
  /// In place of the domain of who looks, for one that is in none.
  static constexpr domain_index anybody = no_domain;
  /// Whether a common queue has something for a thread with this scope.
  [[nodiscard]] bool has_common_task(const search_scope& scope) noexcept;
  /// Whether the deques hold at least so many tasks (> 0); a hint.
  [[nodiscard]] bool has_tasks_for(unsigned threads) const noexcept;
  /// What was enqueued, for outermost loops; detached tasks count, too.
  [[nodiscard]] bool has_enqueued() const noexcept;
  /// What was enqueued and a thread of that domain may take.
  [[nodiscard]] bool has_enqueued_for(domain_index by_domain) const noexcept;

  /// [S10] Whether thieves of other domains leave a task to that one, its home, however idle they are: if its workers
  /// are due.
  [[nodiscard]] bool is_left_to(domain_index home) const noexcept {
    const arena_domain& d = domain(home);
    return stays_ && d.allotted.load(sync::relaxed) > d.absent.load(sync::relaxed);
  }
  /// [S10] Whether thieves of that domain may steal from the slot: all do where they may go everywhere; else those of
  /// its thread's domain, and if it has none, or one that can't take anything there, all.
  [[nodiscard]] bool may_steal_from(const arena_slot& slot, domain_index by_domain) const noexcept {
    return !stays_ || slot.domain.load(sync::relaxed) == by_domain || !slot.hold.is_held() ||
           slot.absent.load(sync::relaxed);
  }
  /// [S10] Whether a domain's queues are for other domains' threads, too, where thieves stay: it has no worker for
  /// them.
  [[nodiscard]] bool is_unserved(const arena_domain& d) const noexcept {
    const int absent = d.absent.load(sync::relaxed);
    return d.allotted.load(sync::relaxed) <= absent && d.active.load(sync::relaxed) <= absent;
  }
  /// [A23] Behind a full fence of the caller's: false if whoever holds a slot but this one is looking for work, so that
  /// nobody pushes behind a light fence until it has passed a full one.
  [[nodiscard]] bool may_have_pusher(slot_id but) const noexcept;
  /// [F6] The next fork of each thread in here must call the library: before somebody stops looking for work.
  void ask_for_forks() noexcept;
  /// Whether some thread in here has ever forked: its pushes pass no fence but the lane's.
  [[nodiscard]] bool has_lanes() const noexcept { return has_lanes_.load(sync::relaxed); }
  /// The innermost stay of a thread with a lane begins or ends (null) in the slot.
  void set_lane(arena_slot& slot, lane* forks) noexcept {
    if (forks != nullptr && !has_lanes()) {
      has_lanes_.store(true, sync::relaxed);
    }
    slot.forks.store(forks, sync::release);  // a whole lane, to thieves' acquire
  }

  /// Whether thieves leave tasks to others, however idle they are: those of S10, and of M9's rules for mailboxes.
  [[nodiscard]] bool thieves_leave_tasks() const noexcept { return stays_ || mailbox_idle_ != idle_rule::homing; }

  /// [S15] The thread in the slot is about to rest where it can't take what lies there. True unless it was so before;
  /// then a heavy fence and a call for work left must follow.
  [[nodiscard]] bool become_absent(arena_slot& s, thread_kind entered_as) noexcept;
  void end_absence(arena_slot& s, thread_kind entered_as) noexcept;

  // Queues, in the order of figure 7; home queues are in domain().
  static constexpr domain_index no_home = no_domain;
  task_queue delegated;
  sharded_task_queue unaddressed;
  task_queue critical;
  task_queue overflowed;  ///< spawned where the deque was full and there was no memory for more; or put back [A12]
  resume_queue resumed;

  searcher_counts searching;  ///< who looks for work, by domain: the counters of figure 9; written by `searchers`

  // Around a fork, lifetime.cpp.
  void lock_queues_for_fork() noexcept;
  void unlock_queues_after_fork() noexcept;

 private:
  /// Of the queue that threads from everywhere push to: half as many as may push and take at the same time.
  [[nodiscard]] static constexpr unsigned shards_for(unsigned slots) noexcept {
    constexpr unsigned enough = 32;
    static_assert(enough <= sharded_task_queue::shards_max);
    return std::bit_floor(std::clamp(slots / 2, 1U, enough));
  }
  [[nodiscard]] bool has_queued_in(domain_index of, const search_scope& scope, domain_index by_domain) const noexcept;
  [[nodiscard]] bool has_mail(domain_index of, const search_scope& scope) const noexcept;
  [[nodiscard]] static bool has_fork(isolation_tag isolation, const arena_slot& slot) noexcept;
  [[nodiscard]] bool has_slot_work(isolation_tag isolation, const arena_slot& slot, domain_index by_domain) noexcept;

  static constexpr std::size_t slot_mail_capacity = 64;
  /// For a slot's mailbox, and not touched before its first post.
  struct alignas(sync::cache_line_bytes) mail_room {
    std::byte bytes[sync::mailbox::bytes_for(slot_mail_capacity)];
  };

  const steal_policy steal_;
  const idle_rule mailbox_idle_;
  const bool stays_;
  const unsigned domain_count_;
  const unsigned slot_count_;
  sync::atomic<bool> has_lanes_{false};
  arena_slot* const slots_;
  arena_domain* const domains_;
  mail_room* const mail_rooms_;
};

}  // namespace homing::scheduler
