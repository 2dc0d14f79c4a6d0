/// The placer's moves: move_pages as long as it does something, and mbind for what that call is not told of.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <numeric>

#include "memory/placer.hpp"
#include "memory/refusal.hpp"

namespace homing::memory {
namespace {

using platform::address;
using platform::existing_pages;
using platform::node_set;
using platform::policy_mode;

constexpr std::size_t batch_units = 4096;     // of one move_pages call
constexpr std::size_t chunk_mappings = 1024;  // that exist for a moment when mbind stands in for move_pages
constexpr unsigned tries_of_held_pages = 4;
constexpr int not_told = std::numeric_limits<int>::min();

}  // namespace

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

}  // namespace homing::memory
