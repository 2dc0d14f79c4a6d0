/// How many workers each arena may have, and of which domains: by priority, one each, then in proportion to demand.
///
/// Costs what there are workers, not what there are arenas: thousands may want the few workers of a small machine.
/// Threads:   under the resource manager's lock, but for demand_rose() and demand_changed().
/// Protocols: docs/protocols/arena.md [A3], [A6], [A8], [A9], [A11], [A14].
/// Source:    TBB-NUMA 4.2.
#include <algorithm>
#include <utility>

#include "runtime/arena.hpp"
#include "runtime/resource_manager.hpp"

namespace homing::scheduler {
namespace {

constexpr std::chrono::nanoseconds turn_length = std::chrono::milliseconds(2);

}  // namespace

bool resource_manager::demand_rose(arena& a, unsigned home) noexcept {
  look_at_machine(look_of_others_ns);
  // [A9] The arena is on the list before the look at the idle workers; partner: a worker that announces itself idle,
  // then looks whether arenas are listed that were not served.
  const bool was_listed = announce(a);
  sync::full_fence();
  if (was_listed && a.worker_could_enter() && send_worker(a, home, 1)) {
    return true;
  }
  // Thousands of small arenas may wait for a few workers: they need no new allotment each. A mandatory worker is
  // another matter, since it may be the first.
  if (a.priority_level() < crowded_level_.load(sync::relaxed) || a.mandatory_.load(sync::relaxed) || available() > 0) {
    demand_changed();
  }
  return false;
}

bool resource_manager::announce(arena& a) noexcept {
  if (!a.wants_workers()) {
    return false;
  }
  if (a.listed_.exchange(true, sync::acq_rel)) {
    return true;
  }
  arena* first = newcomers_.load(sync::relaxed);
  do {
    a.next_newcomer_ = first;
    // release: publishes the link to take_newcomers().
  } while (!newcomers_.compare_exchange_weak(first, &a, sync::release, sync::relaxed));
  return false;
}

void resource_manager::take_newcomers() noexcept {
  // acquire: the links, from announce().
  arena* a = newcomers_.exchange(nullptr, sync::acquire);
  while (a != nullptr) {
    arena* next = a->next_newcomer_;
    auto& level = wanting_[a->priority_level()];
    level.splice(level.end(), a->place_);
    a = next;
  }
}

void resource_manager::unlist(arena& a) noexcept {
  if (a.place_.empty()) {
    a.place_.splice(a.place_.begin(), wanting_[a.priority_level()], a.in_place_);
    // acq_rel, an exchange as in announce(): an announcer that found it listed is ordered before, with its busy_. [A9]
    a.listed_.exchange(false, sync::acq_rel);
    announce(a);
  }
}

void resource_manager::demand_changed() noexcept {
  look_at_machine(look_of_others_ns);
  // [A6] Whoever finds the lock free allots for all who asked; an asker who finds it taken relies on the holder's look
  // at dirty_ after its unlock. seq_cst, all four: dirty_ before the try, unlock before the look.
  dirty_.store(true, sync::seq_cst);
  while (dirty_.load(sync::seq_cst) && lock_.try_lock()) {
    dirty_.store(false, sync::seq_cst);
    allot();
    arena* grown = take_to_call();
    lock_.unlock();
    call_for(grown);
  }
}

// [A16] Under the lock. An arena that is on a list already is called for after this: acq_rel, so that whoever takes the
// flag off it sees what was allotted by now.
void resource_manager::call_later(arena& a) noexcept {
  if (a.to_be_called_.exchange(true, sync::acq_rel)) {
    return;
  }
  if (!a.try_reference()) {
    a.to_be_called_.store(false, sync::relaxed);  // about to be retired: whoever retires it calls
    return;
  }
  a.next_to_call_ = nullptr;
  (first_to_call_ != nullptr ? last_to_call_->next_to_call_ : first_to_call_) = &a;
  last_to_call_ = &a;
}

arena* resource_manager::take_to_call() noexcept { return std::exchange(first_to_call_, nullptr); }

void resource_manager::call_for(arena* first) noexcept {
  // [A8] A worker may have looked for work just before: it sleeps, and nobody else knows of the new allotment.
  for (arena* a = first; a != nullptr;) {
    arena* next = a->next_to_call_;
    a->to_be_called_.exchange(false, sync::acq_rel);  // before the call; partner: call_later()
    a->call_allotted_for_work_left(a->called_for_.load(sync::relaxed));
    a->drop_reference();
    a = next;
  }
}

void resource_manager::call_for_all() noexcept {
  arena* waiting = nullptr;
  {
    const holder hold(*this);
    for (arena* a : served_) {
      call_later(*a);
    }
    waiting = take_to_call();
  }
  call_for(waiting);
}

void resource_manager::allot() noexcept {
  take_newcomers();
  served_before_.swap(served_);
  served_.clear();
  ++allotment_;
  // Where none is left, an arena with enqueued tasks gets one all the same.
  const unsigned allottable = allottable_workers_.load(sync::relaxed);
  pool_of_workers pool{std::max(1U, allottable), allottable == 0, false};
  for (unsigned d = 0; d < domain_count_; ++d) {
    domain_state& state = domains_[d];
    // Below 0: the limit fell under the leases. [A13]
    state.dealt = state.planned - (pool.only_mandatory ? 0 : static_cast<int>(leases_.leased()[d]));
    state.left = state.dealt;
    state.spare = spare_places(d);
  }
  unsigned crowded = level_count;
  for (unsigned level = 0; level < level_count; ++level) {
    if (serve_level(wanting_[level], pool) == crowd::yes) {
      crowded = std::min(crowded, level);
    }
  }
  for (unsigned d = 0; d < domain_count_; ++d) {
    domains_[d].promised = domains_[d].dealt - domains_[d].left;
  }
  crowded_level_.store(crowded, sync::relaxed);
  unmet_.store(pool.unmet, sync::relaxed);
  for (arena* a : served_before_) {
    if (a->served_in_ != allotment_) {
      a->allotted_.store(0, sync::relaxed);
      for (unsigned d = 0; d < domain_count_; ++d) {
        a->domains_[d].allotted.store(0, sync::relaxed);
      }
    }
  }
  served_before_.clear();  // one of them may be deleted before the next allotment
  look_again_at_cut();
}

bool resource_manager::is_out_of_date() noexcept {
  // [A9] Arenas have come, or wait for what another may no longer need, or had their share cut and have new work: its
  // pusher asks for nothing while no worker idles.
  return newcomers_.load(sync::relaxed) != nullptr || unmet_.load(sync::relaxed) ||
         std::any_of(served_.begin(), served_.end(),
                     [](arena* a) { return a->cut_.load(sync::relaxed) && a->has_work(no_isolation, arena::anybody); });
}

void resource_manager::look_again_at_cut() noexcept {
  if (newly_cut_.empty()) {
    return;
  }
  // [A11] The smaller shares are out before this look; partner: a push, then the look at the share.
  sync::heavy_fence();
  for (arena* a : newly_cut_) {
    if (a->has_work(no_isolation, arena::anybody)) {
      dirty_.store(true, sync::seq_cst);
    }
  }
  newly_cut_.clear();
}

resource_manager::crowd resource_manager::serve_level(std::list<arena*>& level, pool_of_workers& pool) noexcept {
  std::vector<portion>& portions = portions_;
  portions.clear();
  bool without = false;
  auto next = level.begin();
  while (next != level.end() && pool.left != 0) {
    arena& a = **next;
    ++next;
    const bool has_more = a.has_work(no_isolation, arena::anybody) || a.in_phase();
    if (!a.wants_workers() || (!has_more && a.workers_.load(sync::relaxed) == 0 && a.stand_down())) {
      unlist(a);  // its own threads did the work before a worker came
      continue;
    }
    portion p{&a, std::max(a.max_workers_, 1U), 0, false, true, false};
    for (unsigned d = 0; d < domain_count_; ++d) {
      a.domains_[d].share = 0;
      p.homeless = p.homeless && (a.allowed_by_domain_[d] == 0 || domains_[d].dealt <= 0);
    }
    const bool works_alone = p.homeless && a.is_of_one_domain();
    const bool only_mandatory = pool.only_mandatory || works_alone;
    p.wanted = only_mandatory ? 1 : p.wanted;
    p.mandatory = only_mandatory || a.max_workers_ == 0;
    if (!has_more) {
      keep_workers(p, pool);
    }
    if (only_mandatory && a.max_workers_ != 0 && (a.has_enqueued() || a.kept_.load(sync::relaxed))) {
      a.mandatory_.store(true, sync::seq_cst);  // [A12] enqueued, or left behind, while workers were allowed
    }
    if (!only_mandatory || a.mandatory_.load(sync::relaxed)) {
      give(p, 1, pool);  // one each first: nobody starves
    }
    if (p.given != 0) {
      portions.push_back(p);
    } else {
      without = without || !works_alone;
    }
  }
  without = without || next != level.end();
  const bool crowded = without || pool.left == 0;
  if (without && !portions.empty()) {
    // By turns: the first has had its. Turns are long against the way of a worker from one arena to the next.
    const auto now = std::chrono::steady_clock::now();
    if (now - turn_began_ > turn_length) {
      turn_began_ = now;
      level.splice(level.end(), level, portions.front().of->in_place_);
    }
  }
  share_out(portions, pool);
  even_out(portions);
  for (const portion& p : portions) {
    pool.unmet = pool.unmet || p.given < p.wanted;
    settle(p);
  }
  pool.unmet = pool.unmet || without;
  return crowded ? crowd::yes : crowd::no;
}

// [A17] One worker fewer than CPUs is dealt, and under a low limit some domains get few; yet an arena of one domain is
// to be filled by workers alone. They move there, to its CPUs; how many there are in all stays as it is.
int resource_manager::spare_places(unsigned domain) const noexcept {
  const int planned = domains_[domain].planned;
  if (planned == 0) {
    return 0;  // its arenas get workers of other domains [A12]
  }
  const int places =
      std::max(planned + (domain == first_domain_ ? 1 : 0), static_cast<int>(domains_[domain].usable.cpus));
  return std::max(0, places - planned - static_cast<int>(leases_.leased()[domain]));
}

void resource_manager::hand_out(portion& p, unsigned domain, pool_of_workers& pool) noexcept {
  ++p.of->domains_[domain].share;
  --domains_[domain].left;
  ++p.given;
  --pool.left;
}

// An arena whose tasks have all been taken keeps the workers that run them, where they are, and wants no more.
void resource_manager::keep_workers(portion& p, pool_of_workers& pool) noexcept {
  p.cut = true;
  p.wanted = std::min(p.wanted, static_cast<unsigned>(std::max(1, p.of->workers_.load(sync::relaxed))));
  for (unsigned d = 0; d < domain_count_; ++d) {
    const int there = p.of->domains_[d].active.load(sync::relaxed);
    while (p.of->domains_[d].share < there && p.given < p.wanted && pool.left != 0 &&
           domains_[d].left > -domains_[d].spare) {
      hand_out(p, d, pool);
    }
  }
}

void resource_manager::give(portion& p, std::uint64_t count, pool_of_workers& pool) noexcept {
  // Spread over the domains that the arena may use: the next worker comes from the domain that has given it least in
  // proportion to its CPUs, among equals from one whose worker is there already, then from the one with most left.
  // (TBB-NUMA 4.2)
  const std::vector<unsigned>& cpus = p.of->allowed_by_domain_;
  const auto is_there = [&](unsigned d) {
    return p.of->domains_[d].active.load(sync::relaxed) > p.of->domains_[d].share;
  };
  for (; count != 0 && p.given < p.wanted && pool.left != 0; --count) {
    int best = -1;
    for (unsigned d = 0; d < domain_count_; ++d) {
      // Constraints are about speed. Where the limit leaves none of its domains a worker, one of another is better than
      // none.
      if (domains_[d].left <= 0 || (cpus[d] == 0 && !p.homeless)) {
        continue;
      }
      if (best >= 0) {
        const auto b = static_cast<unsigned>(best);
        const std::uint64_t mine = static_cast<std::uint64_t>(p.of->domains_[d].share + 1) * cpus[b];
        const std::uint64_t its = static_cast<std::uint64_t>(p.of->domains_[b].share + 1) * cpus[d];
        const auto preference = [&](unsigned x) { return std::pair(is_there(x), domains_[x].left); };
        if (mine > its || (mine == its && preference(d) <= preference(b))) {
          continue;
        }
      }
      best = static_cast<int>(d);
    }
    for (unsigned d = 0; d < domain_count_ && best < 0; ++d) {
      if (cpus[d] != 0 && !p.homeless && domains_[d].left > -domains_[d].spare) {
        best = static_cast<int>(d);
      }
    }
    if (best < 0) {
      return;  // its domains have no more workers
    }
    hand_out(p, static_cast<unsigned>(best), pool);
  }
}

void resource_manager::share_out(std::vector<portion>& portions, pool_of_workers& pool) noexcept {
  std::uint64_t total = 0;
  for (const portion& p : portions) {
    total += p.wanted - p.given;
  }
  const std::uint64_t to_share = std::min<std::uint64_t>(pool.left, total);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < portions.size() && to_share != 0; ++i) {
    const std::uint64_t exact = (portions[i].wanted - portions[i].given) * to_share + carry;
    give(portions[i], exact / total, pool);
    carry = exact % total;
  }
  for (portion& p : portions) {
    give(p, pool.left, pool);  // what others could not use, since their domains had no more
  }
}

// Each took its odd worker where it had one already, and the last may be left with two more of one domain than of
// another. It swaps with one that is as well off either way. (TBB-NUMA 4.2)
void resource_manager::even_out(std::vector<portion>& portions) const noexcept {
  // Of a move of one worker: workers a CPU there before it, less workers a CPU here after it; times CPUs, so only its
  // sign.
  const auto gain = [&](const portion& p, unsigned from, unsigned to) {
    const std::vector<unsigned>& cpus = p.of->allowed_by_domain_;
    return static_cast<std::int64_t>(p.of->domains_[from].share) * cpus[to] -
           static_cast<std::int64_t>(p.of->domains_[to].share + 1) * cpus[from];
  };
  const auto may_move = [&](const portion& p, unsigned from, unsigned to) {
    return !p.cut && p.of->domains_[from].share > 0 && p.of->allowed_by_domain_[to] != 0;
  };
  for (portion& p : portions) {
    for (unsigned from = 0; from < domain_count_; ++from) {
      for (unsigned to = 0; to < domain_count_; ++to) {
        for (auto q = portions.begin(); q != portions.end() && may_move(p, from, to) && gain(p, from, to) > 0; ++q) {
          if (&*q != &p && may_move(*q, to, from) && gain(*q, to, from) >= 0) {
            --p.of->domains_[from].share;
            ++p.of->domains_[to].share;
            --q->of->domains_[to].share;
            ++q->of->domains_[from].share;
          }
        }
      }
    }
  }
}

void resource_manager::settle(const portion& p) noexcept {
  arena& a = *p.of;
  a.served_in_ = allotment_;
  served_.push_back(&a);
  bool shrank = !a.cut_.exchange(p.cut, sync::relaxed);
  // In some domain: its workers may be the idle ones. Or a share that was void has become one for everything.
  bool grew = a.mandatory_share_.exchange(p.mandatory, sync::relaxed) && !p.mandatory;
  for (unsigned d = 0; d < domain_count_; ++d) {
    const int before = a.domains_[d].allotted.exchange(a.domains_[d].share, sync::relaxed);
    grew = grew || before < a.domains_[d].share;
    shrank = shrank || before > a.domains_[d].share;
  }
  if (p.cut && shrank) {
    newly_cut_.push_back(&a);
  }
  if (a.allotted_.exchange(static_cast<int>(p.given), sync::relaxed) != static_cast<int>(p.given)) {
    a.starved_.store(0, sync::relaxed);
  }
  if (grew && available() > 0) {
    call_later(a);
  }
}

}  // namespace homing::scheduler
