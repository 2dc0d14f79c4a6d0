/// Carries out a plan: policies, moves, or copies, then looks where every page really is.
///
/// The ways, in the order in which `means::automatic` tries them:
///   policy   mbind(PREFERRED or BIND, one node, MOVE) for each run of pages with the same node
///   moving   move_pages, one address a unit; where only that call is refused (Podman), mbind over single units, a
///            chunk at a time, with the policy taken back, so that the kernel's mappings merge again
///   copying  a thread bound to the home copies a unit aside, drops it and writes it back (page_copier)
/// A way counts as refused when its first call answers EPERM or ENOSYS. What a way could not do page by page is not
/// guessed: locate() tells where each page is, and a last move_pages of those that are elsewhere tells why.
#pragma once

#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/page_locations.hpp"
#include "memory/page_plan.hpp"
#include "platform/page_calls.hpp"

namespace homing::memory {

/// Where a home's memory is, and who can touch it there.
struct home_target {
  node_id node;
  std::optional<domain_index> domain;  ///< none: a memory tier that is no domain's
};

/// What policy pages that are not there yet get.
enum class later_policy {
  at_home,     ///< that of their home
  interleaved  ///< by turns over all targets: the kernel deals, at its own phase
};

/// One call of enforce(): made, run() once, thrown away. Threads: one.
class placer {
 public:
  /// `targets` by home number of the plan. All references must outlive the object.
  placer(platform::page_calls& calls, const topology::snapshot& machine, const page_plan& plan,
         const platform::mapping_list& mappings, std::span<const home_target> targets, later_policy later,
         const placement_options& options);

  struct result {
    placement_report report;
    bool ok;
    std::vector<platform::address_range> held;  ///< have policies of ours
    /// Pages had to be made before they could be moved, and some came as huge pages that the plan has in parts: nothing
    /// is placed yet, and a new plan is needed.
    bool is_outdated;
  };
  /// Errors: std::bad_alloc; no policy of ours is left then, but pages may have moved.
  [[nodiscard]] result run(bool may_be_outdated);

 private:
  using page = std::size_t;
  enum class outcome { done, refused };
  enum class split { never, by_node };
  enum class stand_in { none, mbind };  // for move_pages
  struct page_run {
    page first;
    page last;
  };

  void note_traits();
  [[nodiscard]] bool is_wanted(page p) const { return plan_.home[p] >= 0 && trouble_[p] == 0; }
  [[nodiscard]] const home_target& target(page p) const { return targets_[static_cast<std::size_t>(plan_.home[p])]; }
  [[nodiscard]] int wanted_node(page p) const { return to_number(target(p).node); }
  [[nodiscard]] bool is_untouched(page p) const { return now_.node[p] == page_locations::untouched; }
  [[nodiscard]] bool is_at_home(page p) const { return now_.node[p] == wanted_node(p); }
  [[nodiscard]] bool is_away(page p) const {
    return is_wanted(p) && now_.node[p] >= 0 && now_.node[p] != wanted_node(p);
  }
  [[nodiscard]] bool is_any_away(page first, page last) const {
    while (first < last && !is_away(first)) ++first;
    return first < last;
  }
  // Not there, but when touched.
  [[nodiscard]] bool comes_home(page p) const { return is_untouched(p) && has_policy_[p] && obeys_policy_[p]; }
  // There, but the kernel does not tell that it is at home.
  [[nodiscard]] bool is_uncertain(page p) const {
    return now_.node[p] == page_locations::unknown || (!now_.in_any_order.empty() && now_.in_any_order[p]);
  }
  [[nodiscard]] platform::address_range bytes_of(page first, page last) const {
    return {plan_.address_of(first), plan_.address_of(last)};
  }
  [[nodiscard]] page unit_end(page p) const;
  [[nodiscard]] std::vector<page_run> wanted_runs(split by) const;
  [[nodiscard]] platform::node_set all_nodes() const;
  void blame(page first, page last, refusal_cause cause, int error_number);
  [[nodiscard]] bool stopped() const { return options_.refusal == on_refusal::fail && any_trouble_; }
  void look() { now_ = locate(calls_, plan_.range(), mappings_, plan_.home); }

  void act();
  outcome by_policy();
  int set_policy_of(const page_run& run);
  void populate_untouched();
  void map_what_is_there();
  [[nodiscard]] bool has_other_units(const std::vector<platform::address_range>& units) const;
  [[nodiscard]] std::vector<page> units_away() const;
  // 0, or the errno of a refusal.
  int call_move_pages(const std::vector<page>& units, std::vector<int>& status);
  outcome move(stand_in other_way);
  outcome move_by_policy(const std::vector<page>& units);
  void copy();
  void refuse_the_rest();
  [[nodiscard]] std::vector<platform::address_range> ranges_held() const;
  void take_back();
  void count();

  platform::page_calls& calls_;
  const topology::snapshot& machine_;
  const page_plan& plan_;
  const platform::mapping_list& mappings_;
  const std::span<const home_target> targets_;
  const later_policy later_;
  const placement_options options_;

  page_locations before_;
  page_locations now_;
  std::vector<bool> may_copy_;          // by page: private, anonymous, writable, not locked
  std::vector<bool> may_populate_;      // by page: writable, or not known
  std::vector<bool> obeys_policy_;      // by page: not of the page cache
  std::vector<bool> has_policy_;        // by page: one that we set, and take back
  std::vector<std::uint16_t> trouble_;  // by page: 0, or a place in causes_ plus 1
  std::vector<refusal_count> causes_;
  bool any_trouble_ = false;
  bool mbind_is_refused_ = false;
  bool may_be_outdated_ = false;
  bool is_outdated_ = false;
  int refused_errno_ = 0;  // of the last way that was refused as a whole
  std::size_t copied_pages_ = 0;
  placement_report report_;
};

}  // namespace homing::memory
