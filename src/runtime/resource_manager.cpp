#include "runtime/resource_manager.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "platform/env.hpp"
#include "runtime/arena.hpp"
#include "runtime/control.hpp"
#include "runtime/lifetime.hpp"

namespace homing::runtime {
namespace {

sync::atomic<resource_manager*> process_manager{nullptr};
std::mutex creation;

}  // namespace

resource_manager& resource_manager::current() {
  resource_manager* m = process_manager.load(sync::acquire);
  if (m == nullptr) {
    const std::lock_guard hold(creation);
    m = process_manager.load(sync::relaxed);
    if (m == nullptr) {
      sync::prepare_asymmetric_fences();
      install_process_hooks();
      m = new resource_manager;
      // release: publishes the manager to the acquire above.
      process_manager.store(m, sync::release);
    }
  }
  return *m;
}

resource_manager* resource_manager::current_or_null() noexcept { return process_manager.load(sync::acquire); }

void resource_manager::replace_after_fork() {
  if (process_manager.load(sync::relaxed) != nullptr) {
    sync::prepare_asymmetric_fences();
    process_manager.store(new resource_manager, sync::release);
  }
}

resource_manager::resource_manager()
    : machine_(topology::process_machine()),
      domain_count_(static_cast<unsigned>(machine_.domains().size())),
      default_concurrency_(machine_.default_concurrency()),
      steal_(platform::env_choice<steal_policy>(
          "HOMING_STEAL",
          {{"near", steal_policy::near}, {"random", steal_policy::random}, {"domain", steal_policy::domain}},
          steal_policy::near)),
      domains_(std::make_unique<domain_state[]>(domain_count_)) {
  for (const topology::domain& d : machine_.domains()) {
    has_l3_groups_ = has_l3_groups_ || d.l3_groups.size() > 1;
  }
  set_allowed_workers(static_cast<unsigned>(std::min<std::size_t>(max_allowed_parallelism(), worker_count_max)) - 1);
}

std::uint16_t resource_manager::domain_of_this_thread() noexcept {
  if (domain_count_ == 1) {
    return 0;
  }
  const auto here = machine_.domain_of_cpu(static_cast<topology::cpu_id>(platform::current_cpu()));
  if (here) {
    return static_cast<std::uint16_t>(topology::to_index(*here));
  }
  // A made-up machine, or a CPU outside the allowed ones: by turns, so that application threads spread.
  static sync::atomic<unsigned> turn{0};
  return static_cast<std::uint16_t>(turn.fetch_add(1, sync::relaxed) % domain_count_);
}

std::uint16_t resource_manager::l3_group_of_this_thread(std::uint16_t domain) noexcept {
  const auto cpu = static_cast<topology::cpu_id>(platform::current_cpu());
  const auto& groups = machine_.domains()[domain].l3_groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::find(groups[g].begin(), groups[g].end(), cpu) != groups[g].end()) {
      return static_cast<std::uint16_t>(g);
    }
  }
  return 0;
}

// Workers are dealt by the smallest (dealt + 1) / CPUs: round-robin in proportion. The application's thread counts as
// the first, in its own domain, so that the default number of threads is one a CPU everywhere. (TBB-NUMA 4.1)
void resource_manager::deal(unsigned count) {
  std::vector<std::uint64_t> dealt(domain_count_, 0);
  dealt[domain_of_this_thread()] = 1;
  for (const std::uint16_t d : domain_of_worker_) {
    ++dealt[d];
  }
  while (domain_of_worker_.size() < count) {
    unsigned best = 0;
    for (unsigned d = 1; d < domain_count_; ++d) {
      const std::uint64_t cpus = machine_.domains()[d].cpus.size();
      const std::uint64_t best_cpus = machine_.domains()[best].cpus.size();
      if ((dealt[d] + 1) * best_cpus < (dealt[best] + 1) * cpus) {
        best = d;
      }
    }
    ++dealt[best];
    domains_[best].not_made.push_back(static_cast<unsigned>(domain_of_worker_.size()));
    domain_of_worker_.push_back(static_cast<std::uint16_t>(best));
  }
}

void resource_manager::set_allowed_workers(unsigned n) noexcept {
  n = std::min(n, worker_count_max);
  {
    const std::lock_guard hold(lock_);
    allowed_workers_.store(n, sync::relaxed);
    deal(std::max(n, 1U));  // one more than none: mandatory concurrency
    update_available();
  }
  demand_changed();
  call_for_waiting_arenas();
}

void resource_manager::call_for_waiting_arenas() noexcept {
  std::vector<arena*> waiting;
  {
    const std::lock_guard hold(lock_);
    for (arena* a = first_arena_; a != nullptr; a = a->next_arena_) {
      if (a->busy_.load(sync::relaxed) && a->workers_.load(sync::relaxed) < a->allotted_.load(sync::relaxed)) {
        a->add_reference();
        waiting.push_back(a);
      }
    }
  }
  for (arena* a : waiting) {
    if (a->has_work(no_isolation, nullptr)) {
      a->call_somebody(no_isolation, 0);
    }
    a->drop_reference();
  }
}

void resource_manager::update_available() noexcept {
  const int made = static_cast<int>(made_.load(sync::relaxed));
  const int could = std::max(1, static_cast<int>(allowed_workers_.load(sync::relaxed)));
  available_.store(idle_.load(sync::relaxed) + std::max(0, could - made), sync::relaxed);
}

void resource_manager::link(arena& a) {
  const std::lock_guard hold(lock_);
  a.next_arena_ = first_arena_;
  a.previous_arena_ = nullptr;
  if (first_arena_ != nullptr) {
    first_arena_->previous_arena_ = &a;
  }
  first_arena_ = &a;
  a.linked_ = true;
}

bool resource_manager::is_idle() noexcept {
  const std::lock_guard hold(lock_);
  return first_arena_ == nullptr && workers_.empty();
}

bool resource_manager::wait_until_unused() noexcept {
  std::unique_lock hold(lock_);
  for (;;) {
    for (const arena* a = first_arena_; a != nullptr; a = a->next_arena_) {
      if (a->users_.load(sync::relaxed) > 0) {
        return false;
      }
    }
    if (first_arena_ == nullptr) {
      return true;
    }
    arena_gone_.wait(hold);
  }
}

void resource_manager::retire(arena& a, workers_called called) {
  bool work_left = false;
  {
    const std::lock_guard hold(lock_);
    // [A5] Another thread may have deleted it between our last drop and this lock: only what is linked is touched.
    const arena* linked = first_arena_;
    while (linked != nullptr && linked != &a) {
      linked = linked->next_arena_;
    }
    if (linked == nullptr || a.references_.load(sync::acquire) != 0) {
      return;
    }
    work_left = a.has_work(no_isolation, nullptr);
    if (work_left && called == workers_called::yes) {
      return;  // nobody may come: what is left is never run
    }
    if (work_left) {
      a.add_reference();  // until a worker has been called
    } else {
      (a.previous_arena_ != nullptr ? a.previous_arena_->next_arena_ : first_arena_) = a.next_arena_;
      if (a.next_arena_ != nullptr) {
        a.next_arena_->previous_arena_ = a.previous_arena_;
      }
      arena_gone_.notify_all();
    }
  }
  if (!work_left) {
    const bool was_busy = a.busy_.load(sync::relaxed);
    delete &a;
    if (was_busy) {
      demand_changed();
    }
    return;
  }
  if (a.busy_.load(sync::relaxed) && a.workers_.load(sync::relaxed) == 0 && a.allotted_.load(sync::relaxed) == 0) {
    demand_changed();
  }
  a.call_somebody(no_isolation, 0);
  // The worker may have come and gone meanwhile: then this reference is the last again.
  if (a.references_.fetch_sub(1, sync::acq_rel) == 1) {
    retire(a, workers_called::yes);
  }
}

void resource_manager::demand_rose(const arena& a) noexcept {
  // Thousands of small arenas may wait for a few workers: they need no new allotment each. A mandatory worker is
  // another matter, since it may be the first.
  if (a.priority_level() < crowded_level_.load(sync::relaxed) || a.mandatory_.load(sync::relaxed)) {
    demand_changed();
  }
}

void resource_manager::demand_changed() noexcept {
  // [A6] Whoever finds the lock free allots for all who asked; an asker who finds it taken relies on the holder's look
  // at dirty_ after its unlock. seq_cst: dirty_ before the try, unlock before the look.
  dirty_.store(true, sync::seq_cst);
  while (dirty_.load(sync::seq_cst) && lock_.try_lock()) {
    dirty_.store(false, sync::seq_cst);
    allot();
    const std::vector<arena*> grown = std::exchange(grown_, {});
    lock_.unlock();
    sync::full_fence();
    // [A8] A worker may have looked for work just before: it sleeps, and nobody else knows of the new allotment.
    for (arena* a : grown) {
      if (a->has_work(no_isolation, nullptr)) {
        a->call_somebody(no_isolation, 0);
      }
      a->drop_reference();
    }
  }
}

void resource_manager::allot() noexcept {
  const unsigned allowed = allowed_workers_.load(sync::relaxed);
  unsigned left = allowed;
  std::vector<arena*> levels[level_count];
  bool mandatory = false;
  for (arena* a = first_arena_; a != nullptr; a = a->next_arena_) {
    if (a->allotted_.load(sync::relaxed) > 0 && a->busy_.load(sync::relaxed) &&
        a->workers_.load(sync::relaxed) == 0 && !a->has_work(no_isolation, nullptr)) {
      // Its own threads did the work before a worker came. As in worker_leaves(): [A3]
      a->busy_.store(false, sync::seq_cst);
      sync::heavy_fence();
      if (a->has_work(no_isolation, nullptr)) {
        a->busy_.store(true, sync::seq_cst);
      }
    }
    if (a->busy_.load(sync::relaxed)) {
      levels[std::min(a->priority_level(), level_count - 1)].push_back(a);
      mandatory = mandatory || a->mandatory_.load(sync::relaxed);
    } else if (a->allotted_.load(sync::relaxed) != 0) {
      a->allotted_.store(0, sync::relaxed);
      for (unsigned d = 0; d < domain_count_; ++d) {
        a->domains_[d].allotted.store(0, sync::relaxed);
      }
    }
  }
  if (left == 0 && mandatory) {
    left = 1;
  }
  std::vector<int> left_by_domain(domain_count_, 0);
  for (unsigned i = 0; i < left && i < domain_of_worker_.size(); ++i) {
    ++left_by_domain[domain_of_worker_[i]];
  }
  unsigned crowded = level_count;
  for (unsigned i = 0; i < level_count; ++i) {
    if (crowded == level_count && levels[i].size() >= left) {
      crowded = i;  // one worker each at most from here down: one arena more changes nothing
    }
    allot_level(levels[i], left, left_by_domain);
  }
  crowded_level_.store(crowded, sync::relaxed);
  ++rotation_;
}

void resource_manager::allot_level(std::vector<arena*>& level, unsigned& left,
                                   std::vector<int>& left_by_domain) noexcept {
  const bool only_mandatory = allowed_workers_.load(sync::relaxed) == 0;
  const auto wanted = [&](const arena& a) -> std::uint64_t {
    const bool must = a.mandatory_.load(sync::relaxed);
    if (only_mandatory) {
      return must ? 1 : 0;
    }
    return std::max<std::uint64_t>(a.max_workers_, must ? 1 : 0);
  };
  std::uint64_t total = 0;
  for (const arena* a : level) {
    total += wanted(*a);
  }
  const std::uint64_t to_give = std::min<std::uint64_t>(left, total);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < level.size(); ++i) {
    // By turns, so that a remainder does not always go to the same arena.
    arena& a = *level[(i + rotation_) % level.size()];
    std::uint64_t share = 0;
    if (total != 0) {
      const std::uint64_t exact = wanted(a) * to_give + carry;
      share = std::min(exact / total, wanted(a));
      carry = exact - share * total;
    }
    // Spread over the domains that the arena may use: the next worker goes to the domain that has given it least in
    // proportion to its CPUs, and among equals to the one with most left. (TBB-NUMA 4.2)
    std::vector<int> given(domain_count_, 0);
    for (std::uint64_t k = 0; k < share; ++k) {
      int best = -1;
      for (unsigned d = 0; d < domain_count_; ++d) {
        if (left_by_domain[d] <= 0 || a.allowed_by_domain_[d] == 0) {
          continue;
        }
        if (best >= 0) {
          const auto b = static_cast<unsigned>(best);
          const std::uint64_t mine = static_cast<std::uint64_t>(given[d] + 1) * a.allowed_by_domain_[b];
          const std::uint64_t its = static_cast<std::uint64_t>(given[b] + 1) * a.allowed_by_domain_[d];
          if (mine > its || (mine == its && left_by_domain[d] <= left_by_domain[b])) {
            continue;
          }
        }
        best = static_cast<int>(d);
      }
      if (best < 0) {
        share = k;  // its domains have no more workers
        break;
      }
      ++given[static_cast<unsigned>(best)];
      --left_by_domain[static_cast<unsigned>(best)];
    }
    bool grew = false;  // in some domain: its workers may be the idle ones
    for (unsigned d = 0; d < domain_count_; ++d) {
      grew = a.domains_[d].allotted.exchange(given[d], sync::relaxed) < given[d] || grew;
    }
    if (a.allotted_.exchange(static_cast<int>(share), sync::relaxed) != static_cast<int>(share)) {
      a.starved_.store(0, sync::relaxed);
    }
    if (grew && available_.load(sync::relaxed) > 0) {
      a.add_reference();
      grown_.push_back(&a);
    }
    left -= static_cast<unsigned>(share);
  }
}

bool resource_manager::reserve(arena& a, unsigned d) noexcept {
  const auto raise = [](sync::atomic<int>& count, const sync::atomic<int>& limit) {
    int now = count.load(sync::relaxed);
    while (now < limit.load(sync::relaxed)) {
      if (count.compare_exchange_weak(now, now + 1, sync::relaxed, sync::relaxed)) {
        return true;
      }
    }
    return false;
  };
  if (!raise(a.domains_[d].active, a.domains_[d].allotted)) {
    return false;
  }
  if (!raise(a.workers_, a.allotted_)) {
    a.domains_[d].active.fetch_sub(1, sync::relaxed);
    return false;
  }
  a.add_reference();
  return true;
}

void resource_manager::unreserve(arena& a, unsigned d) noexcept {
  a.domains_[d].active.fetch_sub(1, sync::relaxed);
  a.workers_.fetch_sub(1, sync::relaxed);
  a.drop_reference();
}

}  // namespace homing::runtime
