#include "memory/placer.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "memory/page_copier.hpp"
#include "memory/refusal.hpp"

namespace homing::memory {
namespace {

using platform::address;
using platform::address_range;
using platform::existing_pages;
using platform::mapping;
using platform::node_set;
using platform::policy_mode;

std::ptrdiff_t offset(std::size_t page) noexcept { return static_cast<std::ptrdiff_t>(page); }

}  // namespace

placer::placer(platform::page_calls& calls, const topology::snapshot& machine, const page_plan& plan,
               const platform::mapping_list& mappings, std::span<const home_target> targets, later_policy later,
               const placement_options& options)
    : calls_(calls),
      machine_(machine),
      plan_(plan),
      mappings_(mappings),
      targets_(targets),
      later_(later),
      options_(options),
      may_copy_(plan.size()),
      may_populate_(plan.size(), !mappings.is_read()),
      obeys_policy_(plan.size(), true),
      has_policy_(plan.size()),
      trouble_(plan.size()) {}

placer::result placer::run(bool may_be_outdated) {
  may_be_outdated_ = may_be_outdated;
  look();
  map_what_is_there();
  before_ = now_;
  note_traits();
  std::vector<address_range> held;
  try {
    if (!stopped()) act();
    if (stopped() || is_outdated_) take_back();
    count();
    held = ranges_held();
  } catch (...) {
    take_back();
    throw;
  }
  return {std::move(report_), !stopped(), std::move(held), is_outdated_};
}

// What has policies of ours.
std::vector<address_range> placer::ranges_held() const {
  std::vector<address_range> ranges;
  for (page p = 0; p < plan_.size(); ++p) {
    const page first = p;
    while (p < plan_.size() && has_policy_[p]) ++p;
    if (p > first) ranges.push_back(bytes_of(first, p));
  }
  return ranges;
}

// What is known before anything is tried.
void placer::note_traits() {
  for (page p = 0; p < plan_.size(); ++p) {
    if (now_.node[p] == page_locations::hole) blame(p, p + 1, refusal_cause::not_mapped, 0);
  }
  const address_range all = plan_.range();
  for (const mapping& m : mappings_.all) {
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
  is_outdated_ = may_be_outdated_ &&
                 has_other_units(memory::huge_units(calls_, plan_.range(), calls_.mappings(plan_.range()).all));
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
  for (const mapping& m : mappings_.all) {
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
      blame(p, end, refusal_cause::not_anonymous, mappings_.is_read() ? refused_errno_ : mappings_.error_number);
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
  // Whoever stopped it may have refused only pages that are at home all the same: then the others have the errno.
  for (refusal_count& r : causes_) {
    if (gave_up && causes_.front().pages == 0 && r.cause == refusal_cause::not_attempted) {
      r.error_number = causes_.front().error_number;
    }
  }
  report_.moved = before_.in_any_order.empty() ? moved : copied_pages_;
  report_.mixed = plan_.mixed;
  report_.grain_bytes = plan_.grain_bytes;
  for (const refusal_count& r : causes_) {
    if (r.pages > 0) report_.refused.push_back(r);
  }
}

}  // namespace homing::memory
