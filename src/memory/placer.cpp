#include "memory/placer.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <numeric>
#include <utility>

#include "memory/page_copier.hpp"

namespace homing::memory {
namespace {

using platform::address;
using platform::address_range;
using platform::existing_pages;
using platform::mapping;
using platform::node_set;
using platform::policy_mode;

constexpr std::size_t batch_units = 4096;     // of one move_pages call
constexpr std::size_t chunk_mappings = 1024;  // that exist for a moment when mbind stands in for move_pages
constexpr unsigned tries_of_held_pages = 4;
constexpr int not_told = std::numeric_limits<int>::min();

std::ptrdiff_t offset(std::size_t page) noexcept { return static_cast<std::ptrdiff_t>(page); }

bool is_refusal(int error) noexcept { return error == EPERM || error == ENOSYS; }

refusal_cause cause_of(int error) noexcept {
  switch (error) {
    case EPERM:
    case ENOSYS:
      return refusal_cause::not_permitted;
    case EACCES:
      return refusal_cause::mapped_elsewhere;
    case ENOMEM:
      return refusal_cause::no_memory;
    case EBUSY:
    case EAGAIN:
      return refusal_cause::busy;
    case EFAULT:
      return refusal_cause::not_mapped;
    case EINVAL:
    case ENODEV:
      return refusal_cause::bad_node;
    default:
      return refusal_cause::elsewhere;
  }
}

}  // namespace

placer::placer(platform::page_calls& calls, const topology::snapshot& machine, const page_plan& plan,
               const std::vector<mapping>& mappings, std::span<const home_target> targets, later_policy later,
               const placement_options& options)
    : calls_(calls),
      machine_(machine),
      plan_(plan),
      mappings_(mappings),
      targets_(targets),
      later_(later),
      options_(options),
      may_copy_(plan.size()),
      may_populate_(plan.size()),
      obeys_policy_(plan.size(), true),
      has_policy_(plan.size()),
      trouble_(plan.size()) {}

placer::result placer::run(bool may_be_outdated) {
  may_be_outdated_ = may_be_outdated;
  look();
  map_what_is_there();
  before_ = now_;
  note_traits();
  try {
    if (!stopped()) act();
    if (stopped() || is_outdated_) take_back();
    count();
  } catch (...) {
    take_back();
    throw;
  }
  const bool ok = !stopped();
  address_range held{};
  if (ok) {
    const auto first = std::find(has_policy_.begin(), has_policy_.end(), true);
    const auto last = std::find(has_policy_.rbegin(), has_policy_.rend(), true);
    if (first != has_policy_.end()) {
      held = bytes_of(static_cast<page>(first - has_policy_.begin()), static_cast<page>(has_policy_.rend() - last));
    }
  }
  return {std::move(report_), ok, held, is_outdated_};
}

// What is known before anything is tried.
void placer::note_traits() {
  for (page p = 0; p < plan_.size(); ++p) {
    if (now_.node[p] == page_locations::hole) blame(p, p + 1, refusal_cause::not_mapped, 0);
  }
  const address_range all = plan_.range();
  for (const mapping& m : mappings_) {
    const page first = (std::max(all.first, m.range.first) - all.first) / plan_.page_bytes;
    const page last = (std::min(all.last, m.range.last) - all.first) / plan_.page_bytes;
    if (m.is_file() && !m.writable) blame(first, last, refusal_cause::read_only_file, 0);
    const bool may_copy =
        m.is_private_anonymous() && m.readable && m.writable && m.locked_bytes == 0 && m.page_bytes == plan_.page_bytes;
    std::fill(may_copy_.begin() + offset(first), may_copy_.begin() + offset(last), may_copy);
    std::fill(may_populate_.begin() + offset(first), may_populate_.begin() + offset(last), m.writable);
    if (m.ignores_policy(calls_.page_bytes()))
      std::fill(obeys_policy_.begin() + offset(first), obeys_policy_.begin() + offset(last), false);
  }
}

// The first cause that is given for a page counts.
void placer::blame(page first, page last, refusal_cause cause, int error_number) {
  const auto same = [&](const refusal_count& r) { return r.cause == cause && r.error_number == error_number; };
  auto known = std::find_if(causes_.begin(), causes_.end(), same);
  if (known == causes_.end()) known = causes_.insert(causes_.end(), {cause, error_number, 0});
  const auto mark = static_cast<std::uint16_t>(known - causes_.begin() + 1);
  for (page p = first; p < last; ++p) {
    if (plan_.home[p] < 0 || trouble_[p] != 0) continue;
    trouble_[p] = mark;
    any_trouble_ = true;
  }
}

placer::page placer::unit_end(page p) const {
  page end = p + 1;
  while (end < plan_.size() && !plan_.begins_unit[end]) ++end;
  return end;
}

// Longest runs of wanted pages; split where the node changes, if that is asked for.
std::vector<placer::page_run> placer::wanted_runs(split by) const {
  std::vector<page_run> runs;
  for (page p = 0; p < plan_.size(); ++p) {
    if (!is_wanted(p)) continue;
    const bool touches = !runs.empty() && runs.back().last == p;
    if (touches && (by == split::never || wanted_node(runs.back().first) == wanted_node(p))) {
      ++runs.back().last;
    } else {
      runs.push_back({p, p + 1});
    }
  }
  return runs;
}

void placer::act() {
  switch (options_.how) {
    case means::policy:
      if (by_policy() == outcome::refused) refuse_the_rest();
      return;
    case means::moving:
      populate_untouched();
      if (!stopped() && !is_outdated_ && move(stand_in::mbind) == outcome::refused) refuse_the_rest();
      return;
    case means::copying:
      copy();
      return;
    case means::automatic:
      break;
  }
  if (by_policy() == outcome::done || stopped()) return;
  // Populating would only make work for the copier if nothing can be moved.
  const bool may_move = before_.source == page_source::kernel || !mbind_is_refused_;
  if (may_move) {
    populate_untouched();
    if (stopped() || is_outdated_ || move(stand_in::mbind) == outcome::done || stopped()) return;
  }
  copy();
}

placer::outcome placer::by_policy() {
  const bool interleaved = later_ == later_policy::interleaved;
  const std::vector<page_run> runs = wanted_runs(interleaved ? split::never : split::by_node);
  if (!interleaved && options_.how == means::automatic && runs.size() > mapping_count_max) {
    // Nothing is set; but whether it could be must be known before pages are made that nothing can move.
    if (before_.source != page_source::kernel) {
      const int error = calls_.set_policy(bytes_of(0, 0), policy_mode::system_default, {}, existing_pages::leave);
      mbind_is_refused_ = is_refusal(error);
      if (mbind_is_refused_) refused_errno_ = error;
    }
    return outcome::refused;
  }
  for (const page_run& run : runs) {
    const int error = set_policy_of(run);
    if (is_refusal(error) && !report_.by_policy) {
      mbind_is_refused_ = true;
      refused_errno_ = error;
      return outcome::refused;
    }
    if (error == ENOMEM && options_.how == means::automatic) {  // no more mappings: page by page, then
      refused_errno_ = error;
      return outcome::refused;
    }
    if (error != 0) {
      blame(run.first, run.last, cause_of(error), error);
      if (stopped()) return outcome::done;
      continue;
    }
    report_.by_policy = true;
    std::fill(has_policy_.begin() + offset(run.first), has_policy_.begin() + offset(run.last), true);
  }
  look();
  for (page p = 0; p < plan_.size(); ++p) {
    if (is_untouched(p) && has_policy_[p] && !obeys_policy_[p]) blame(p, p + 1, refusal_cause::not_touched, 0);
  }
  if (stopped()) return outcome::done;
  // Interleaving moves nothing by itself; otherwise this only finds out why some pages have stayed.
  const outcome moved = move(interleaved ? stand_in::mbind : stand_in::none);
  return interleaved ? moved : outcome::done;
}

int placer::set_policy_of(const page_run& run) {
  if (later_ == later_policy::interleaved) {
    return calls_.set_policy(bytes_of(run.first, run.last), policy_mode::interleave, all_nodes(),
                             existing_pages::leave);
  }
  const policy_mode mode = options_.strength == binding::strict ? policy_mode::bind : policy_mode::preferred;
  return calls_.set_policy(bytes_of(run.first, run.last), mode, {target(run.first).node}, existing_pages::move);
}

node_set placer::all_nodes() const {
  node_set nodes;
  for (const home_target& t : targets_) nodes.add(t.node);
  return nodes;
}

// Pages that are not there can't be moved. Populating changes no contents, so other threads may write meanwhile.
void placer::populate_untouched() {
  const auto lacks = [&](page p) {
    return is_wanted(p) && !has_policy_[p] && now_.node[p] == page_locations::untouched;
  };
  bool populated = false;
  for (page p = 0; p < plan_.size() && !stopped();) {
    page end = p;
    while (end < plan_.size() && lacks(end) && may_populate_[end] == may_populate_[p]) ++end;
    if (end > p) {
      const int error = may_populate_[p] ? calls_.populate(bytes_of(p, end)) : 0;
      if (error != 0 || !may_populate_[p]) {
        blame(p, end, error == ENOMEM ? refusal_cause::no_memory : refusal_cause::not_touched, error);
      }
      populated = true;
    }
    p = std::max(end, p + 1);
  }
  if (!populated) return;
  look();
  is_outdated_ =
      may_be_outdated_ && has_other_units(memory::huge_units(calls_, plan_.range(), calls_.mappings(plan_.range())));
}

// Whether a huge page is there that the plan has in parts.
bool placer::has_other_units(const std::vector<address_range>& units) const {
  for (const address_range& unit : units) {
    for (address at = std::max(unit.first + plan_.page_bytes, plan_.first);
         at < std::min(unit.last, plan_.range().last); at += plan_.page_bytes) {
      if (at > plan_.first && plan_.begins_unit[(at - plan_.first) / plan_.page_bytes]) return true;
    }
  }
  return false;
}

// Shared memory that others have made is mapped here, so that the kernel tells where it is, and can move it.
void placer::map_what_is_there() {
  bool any = false;
  for (const mapping& m : mappings_) {
    if (!m.shared) continue;
    const page first = (std::max(plan_.range().first, m.range.first) - plan_.first) / plan_.page_bytes;
    const page last = (std::min(plan_.range().last, m.range.last) - plan_.first) / plan_.page_bytes;
    for (page p = first; p < last;) {
      page end = p;
      while (end < last && now_.node[end] == page_locations::unknown) ++end;
      // A refusal (before Linux 5.14) leaves them unknown, and so they are reported.
      if (end > p) any = calls_.populate_read(bytes_of(p, end)) == 0 || any;
      p = std::max(end, p + 1);
    }
  }
  if (any) look();
}

std::vector<placer::page> placer::units_away() const {
  std::vector<page> units;
  for (page p = 0; p < plan_.size(); p = unit_end(p)) {
    const page end = unit_end(p);
    bool away = false;
    for (page q = p; q < end && !away; ++q) away = is_away(q) || (is_wanted(q) && is_uncertain(q));
    if (away) units.push_back(p);
  }
  return units;
}

// One address a unit: the kernel moves a huge page by any of its pages, and finds the others busy with that.
// The kernel collects units of the same node, until one is of another node or is answered by itself, and moves such a
// run at once. A run that fails ends the call, and of it and of all behind it nothing is told: with 0 if somebody holds
// a page for the moment (Linux 5.7 and later), with an error if the node has no room or is not allowed. So whatever
// was not told goes into another call; but for the run, or for all units of that node.
int placer::call_move_pages(const std::vector<page>& units, std::vector<int>& status) {
  std::vector<std::size_t> left(units.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    const std::size_t count = std::min(batch_units, left.size());
    std::vector<address> pages;
    std::vector<node_id> to;
    for (std::size_t i = 0; i < count; ++i) {
      pages.push_back(plan_.address_of(units[left[i]]));
      to.push_back(target(units[left[i]]).node);
    }
    std::vector<int> told(count, not_told);
    const int error = calls_.move_pages(pages, to, told);
    if (is_refusal(error)) return error;
    report_.by_moving = true;
    const auto failed = static_cast<std::size_t>(std::find(told.begin(), told.end(), not_told) - told.begin());
    for (std::size_t i = failed; error == 0 && i < count && told[i] == not_told && to[i] == to[failed]; ++i) {
      told[i] = -EAGAIN;
    }
    for (std::size_t i = 0; i < count; ++i) status[left[i]] = told[i];
    const auto ends_here = [&](std::size_t u) {
      if (error != 0 && failed < count && status[u] == not_told && target(units[u]).node == to[failed]) {
        status[u] = -error;
      }
      return status[u] != not_told;
    };
    left.erase(std::remove_if(left.begin(), left.end(), ends_here), left.end());
    if (error != 0 && failed == count) break;  // told of all, and an error: there is nothing to ask again
  }
  return 0;
}

// What the kernel holds for the moment is tried again, a few times and without waiting.
placer::outcome placer::move(stand_in other_way) {
  for (unsigned tries = 1;; ++tries) {
    const std::vector<page> units = units_away();
    if (units.empty()) return outcome::done;
    std::vector<int> status(units.size(), not_told);
    if (const int refused = call_move_pages(units, status); refused != 0) {
      if (other_way == stand_in::mbind && !mbind_is_refused_) return move_by_policy(units);
      refused_errno_ = refused;
      return outcome::refused;
    }
    // All of them are there: those that the call says are not are being watched by the kernel's NUMA balancing, which
    // hides them from it (Linux 6.1), and not from mbind.
    std::vector<page> hidden;
    for (std::size_t u = 0; u < units.size() && other_way == stand_in::mbind && !mbind_is_refused_; ++u) {
      if (status[u] != -ENOENT && status[u] != -EFAULT) continue;  // EFAULT of huge pages
      hidden.push_back(units[u]);
      status[u] = -EAGAIN;  // mbind moves what it can, and does not tell
    }
    if (hidden.empty() || move_by_policy(hidden) == outcome::refused) look();
    bool any_held = false;
    for (std::size_t u = 0; u < units.size() && !any_held; ++u) {
      any_held = (status[u] == -EAGAIN || status[u] == -EBUSY) && is_any_away(units[u], unit_end(units[u]));
    }
    if (any_held && tries < tries_of_held_pages) continue;
    for (std::size_t u = 0; u < units.size(); ++u) {
      if (status[u] == not_told || status[u] >= 0) continue;
      const page end = unit_end(units[u]);
      for (page p = units[u]; p < end; ++p) {
        if (is_away(p)) blame(p, p + 1, cause_of(-status[u]), -status[u]);
      }
    }
    return outcome::done;
  }
}

placer::outcome placer::move_by_policy(const std::vector<page>& units) {
  for (std::size_t first = 0; first < units.size(); first += chunk_mappings) {
    const std::size_t last = std::min(first + chunk_mappings, units.size());
    // Afterwards back to one policy, and so to one mapping. A failure leaves what the next call, or the owner, sets
    // again.
    const auto chunk = bytes_of(units[first], unit_end(units[last - 1]));
    const bool is_dealt = later_ == later_policy::interleaved && has_policy_[units[first]];
    const node_set nodes_after = is_dealt ? all_nodes() : node_set{};
    const auto set_back = [&] {
      static_cast<void>(calls_.set_policy(chunk, is_dealt ? policy_mode::interleave : policy_mode::system_default,
                                          nodes_after, existing_pages::leave));
    };
    try {
      for (std::size_t u = first; u < last; ++u) {
        const page_run run{units[u], unit_end(units[u])};
        const int error = calls_.set_policy(bytes_of(run.first, run.last), policy_mode::preferred,
                                            {target(run.first).node}, existing_pages::move);
        if (is_refusal(error)) {
          mbind_is_refused_ = true;
          refused_errno_ = error;
          return outcome::refused;
        }
        if (error != 0) blame(run.first, run.last, cause_of(error), error);
      }
    } catch (...) {
      set_back();
      throw;
    }
    set_back();
  }
  report_.by_policy = true;
  look();
  return outcome::done;
}

void placer::copy() {
  std::vector<copy_order> orders;
  std::vector<std::vector<page>> first_pages;  // of the orders' units
  for (page p = 0; p < plan_.size(); p = unit_end(p)) {
    const page end = unit_end(p);
    bool misplaced = false;
    bool may_copy = true;
    for (page q = p; q < end; ++q) {
      misplaced = misplaced || (is_wanted(q) && (!is_at_home(q) || is_uncertain(q)) && !comes_home(q));
      may_copy = may_copy && may_copy_[q];
    }
    if (!misplaced) continue;
    if (options_.who != access::exclusive) {
      blame(p, end, refusal_cause::not_exclusive, refused_errno_);
    } else if (!may_copy) {
      blame(p, end, refusal_cause::not_anonymous, refused_errno_);
    } else if (!target(p).domain) {
      blame(p, end, refusal_cause::not_permitted, refused_errno_);
    } else {
      auto order =
          std::find_if(orders.begin(), orders.end(), [&](const auto& o) { return o.home == target(p).domain; });
      if (order == orders.end()) {
        order = orders.insert(orders.end(), {*target(p).domain, {}});
        first_pages.emplace_back();
      }
      order->units.push_back(bytes_of(p, end));
      first_pages[static_cast<std::size_t>(order - orders.begin())].push_back(p);
    }
  }
  if (orders.empty() || stopped()) return;
  std::vector<std::vector<int>> errors;
  for (const copy_order& o : orders) errors.emplace_back(o.units.size(), 0);
  copy_home(calls_, machine_, orders,
            [&](std::size_t order, std::size_t unit, int error) { errors[order][unit] = error; });
  report_.by_copying = true;
  for (std::size_t o = 0; o < orders.size(); ++o) {
    for (std::size_t u = 0; u < orders[o].units.size(); ++u) {
      const page first = first_pages[o][u];
      const int error = errors[o][u];
      if (error != 0)
        blame(first, unit_end(first), error == EINVAL ? refusal_cause::not_permitted : cause_of(error), error);
      if (error == 0) copied_pages_ += unit_end(first) - first;
    }
  }
  look();
  // Touched at home and not there: the node was full. Nobody else will say so.
  for (page p = 0; p < plan_.size(); ++p) {
    if (is_away(p)) blame(p, p + 1, refusal_cause::elsewhere, 0);
  }
}

void placer::refuse_the_rest() {
  for (page p = 0; p < plan_.size(); ++p) {
    if (is_wanted(p) && !is_at_home(p) && !comes_home(p)) blame(p, p + 1, cause_of(refused_errno_), refused_errno_);
  }
}

void placer::take_back() {
  for (page p = 0; p < plan_.size(); ++p) {
    const page first = p;
    while (p < plan_.size() && has_policy_[p]) ++p;
    if (p == first) continue;
    // Whatever the answer: the report says that nothing is held.
    static_cast<void>(calls_.set_policy(bytes_of(first, p), policy_mode::system_default, {}, existing_pages::leave));
  }
  std::fill(has_policy_.begin(), has_policy_.end(), false);
}

void placer::count() {
  const bool gave_up = stopped();
  std::size_t moved = 0;
  for (page p = 0; p < plan_.size(); ++p) {
    if (plan_.home[p] == page_plan::edge) ++report_.edge;
    if (plan_.home[p] == page_plan::no_home) ++report_.without_home;
    if (plan_.home[p] < 0) continue;
    ++report_.asked;
    const refusal_count* why = trouble_[p] == 0 ? nullptr : &causes_[trouble_[p] - 1U];
    if (is_at_home(p) && (why == nullptr || why->cause != refusal_cause::read_only_file)) {
      trouble_[p] = 0;
      ++report_.placed;
      moved += before_.node[p] >= 0 && before_.node[p] != now_.node[p];
      continue;
    }
    if (why == nullptr && comes_home(p)) {
      ++report_.later;
      continue;
    }
    if (why == nullptr && now_.node[p] == page_locations::unknown) {
      ++report_.unknown;
      continue;
    }
    if (why == nullptr) {
      blame(p, p + 1,
            gave_up           ? refusal_cause::not_attempted
            : is_untouched(p) ? refusal_cause::not_touched
                              : refusal_cause::elsewhere,
            0);
    }
    ++causes_[trouble_[p] - 1U].pages;
  }
  report_.moved = before_.in_any_order.empty() ? moved : copied_pages_;
  report_.mixed = plan_.mixed;
  report_.grain_bytes = plan_.grain_bytes;
  for (const refusal_count& r : causes_) {
    if (r.pages > 0) report_.refused.push_back(r);
  }
}

}  // namespace homing::memory
