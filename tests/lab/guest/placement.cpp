// placement [sandbox] [huge] [balancing]: what enforce(), interleave(), localize() and verify() say of pages is what
// the kernel says of them, asked by another process.
//   sandbox    with system calls refused as Docker does: pages are copied instead
//   huge       the kernel gives huge pages, so the grain is 2 MiB
//   balancing  the kernel moves pages to who uses them, but for those that a policy holds
#include <homing/placement.hpp>
#include <homing/topology.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "memory.hpp"
#include "truth.hpp"
#include "unit/common/system_call_filter.hpp"

using namespace homing;
using namespace guest;

namespace {

constexpr std::size_t block_bytes = 2 * huge_bytes;  // of each domain: whole pages of either size

struct setting {
  bool sandbox, huge, balancing;
};

std::string text(const placement_report& r) {
  return r.describe() + " (asked " + std::to_string(r.asked) + ", placed " + std::to_string(r.placed) + ", later " +
         std::to_string(r.later) + ")";
}

/// The nodes of all pages, by the other process. A kernel that balances hides pages that it watches until somebody uses
/// them: a thread of domain 0 reads them, which must not move those that are held.
std::vector<int> by_kernel(truth& kernel, std::span<double> values, const setting& s) {
  if (s.balancing) {
    in_domain(domain_index{0}, [&] {
      for (std::size_t i = 0; i < values.size(); i += base_page_bytes / sizeof(double)) {
        static_cast<void>(*static_cast<const volatile double*>(&values[i]));
      }
    });
  }
  return kernel.nodes(values.data(), values.size_bytes());
}

/// Pages on the memory node of the domain that the distribution says.
template <class Dist>
std::size_t at_home(const Dist& d, const std::vector<int>& nodes) {
  const auto machine = topology::current();
  std::size_t result = 0;
  for (std::size_t page = 0; page != nodes.size(); ++page) {
    const domain_index home = d.home_of(page * base_page_bytes / sizeof(double));
    result += nodes[page] == to_number(machine.memory_id(home)) ? 1 : 0;
  }
  return result;
}

template <class Dist>
void distribution(truth& kernel, const char* name, const Dist& d, const setting& s) {
  const std::string what = name;
  const fresh memory(d.size() * sizeof(double));
  const auto values = memory.values();
  number(values, domain_index{0});  // all on one node
  const verification first = verify(d, values);
  if (s.balancing) {  // they may go, and may be watched again before the kernel can be asked
    check(first.untouched == 0, what + ": verify before", std::to_string(first.untouched));
  } else {
    check(first.at_home == at_home(d, by_kernel(kernel, values, s)), what + ": verify before",
          std::to_string(first.at_home));
  }

  placement_options shared;
  if (s.sandbox) {
    const placed_range refused = enforce(d, values, shared);
    check(!refused.report().complete() && refused.report().placed == at_home(d, by_kernel(kernel, values, s)),
          what + ": refused to shared memory, and says so", text(refused.report()));
    placement_options strict = shared;
    strict.refusal = on_refusal::fail;
    const placed_range failed = enforce(d, values, strict);
    check(!failed.ok(), what + ": on_refusal::fail", text(failed.report()));
  }
  placement_options options;
  options.who = access::exclusive;
  {
    const placed_range placed = enforce(d, values, options);
    const verification at_once = verify(d, values);
    const auto after = by_kernel(kernel, values, s);
    check(at_once.at_home == at_once.asked, what + ": verify at once", std::to_string(at_once.at_home));
    const placement_report& r = placed.report();
    check(placed.ok() && r.complete() && r.asked == after.size(), what + ": complete", text(r));
    check(r.placed == at_home(d, after) && r.placed == after.size(), what + ": as the kernel says",
          std::to_string(at_home(d, after)) + " at home by the kernel; " + text(r));
    check(r.by_copying == s.sandbox, what + (s.sandbox ? ": by copying" : ": not by copying"));
    // Balancing splits a huge page that it moves to a node without a free one.
    const bool may_be_split = s.balancing && s.huge && r.grain_bytes == base_page_bytes;
    check(s.sandbox || may_be_split || r.grain_bytes == (s.huge ? huge_bytes : base_page_bytes), what + ": grain",
          std::to_string(r.grain_bytes));
    check(is_numbered(values), what + ": its contents");
    const verification v = verify(d, values);
    check(v.at_home == v.asked && v.asked == after.size(), what + ": verify after", std::to_string(v.at_home));
    check(enforce(d, values, options).report().moved == 0, what + ": once more moves nothing");
  }
}

void untouched(truth& kernel, const setting& s) {
  const auto machine = topology::current();
  const auto domains = static_cast<std::uint32_t>(machine.domains().size());
  const fresh memory(domains * block_bytes);
  const auto values = memory.values();
  const auto d = block(values.size(), domain_set::all(), elements_per_page<double>());
  placement_options options;
  options.who = access::exclusive;
  const placed_range placed = enforce(d, values, options);
  check(placed.report().complete(), "untouched: complete", text(placed.report()));
  check(s.sandbox || placed.report().later == placed.report().asked, "untouched: later", text(placed.report()));
  number(values, domain_index{domains - 1});
  const auto nodes = by_kernel(kernel, values, s);
  check(at_home(d, nodes) == nodes.size(), "untouched: at home when touched by another",
        std::to_string(at_home(d, nodes)));
}

void interleaved(truth& kernel, const setting& s) {
  const auto machine = topology::current();
  std::map<int, std::size_t> expected;
  for (const auto& n : machine.nodes()) {
    if (n.memory == topology::node_memory::usable && !n.cpus.empty()) expected[to_number(n.id)] = 0;
  }
  const fresh memory(8 * expected.size() * huge_bytes);
  const auto values = memory.values();
  number(values, domain_index{0});
  placement_options options;
  options.who = access::exclusive;
  const placed_range dealt = interleave(values, {}, options);
  const auto nodes = by_kernel(kernel, values, s);
  std::map<int, std::size_t> seen;
  for (const int n : nodes) ++seen[n];
  const page_census census = where(values);
  bool same = true;
  bool even = seen.size() == expected.size();
  for (const auto& [n, pages] : seen) {
    same &= census.on(node_id{n}) == pages;
    even &= expected.contains(n) && pages * expected.size() == nodes.size();
  }
  check(even, "interleave: the same share to each node");
  // Without system calls it can be that nobody tells which page of a mapping is where; then the report says so.
  const placement_report& r = dealt.report();
  check(r.complete() || (s.sandbox && r.asked == r.placed + r.unknown), "interleave: nothing refused", text(r));
  check(same, "where() says as the kernel");
  check(is_numbered(values), "interleave: its contents");
}

/// Pages of which somebody else has a reference, as of a buffer that is being sent, do not move, and end the kernel's
/// call: all others are placed all the same, and these once they are let go.
void held(truth& kernel, const setting& s) {
  const auto machine = topology::current();
  const std::size_t unit = s.huge ? huge_bytes : base_page_bytes;
  const auto dealt_to = std::ranges::count_if(machine.nodes(), [](const topology::node_info& n) {
    return n.memory == topology::node_memory::usable && !n.cpus.empty();
  });
  const fresh memory(8 * static_cast<std::size_t>(dealt_to) * huge_bytes);
  const auto values = memory.values();
  number(values, domain_index{0});
  int ends[2];
  if (pipe(ends) != 0) give_up("no pipe");
  // Of the first two units one at most is at home already.
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  const iovec pages[2] = {{bytes, base_page_bytes}, {bytes + unit, base_page_bytes}};
  check(vmsplice(ends[1], pages, 2, 0) == 2 * base_page_bytes, "held: in a pipe");
  const placement_report first = interleave(values, {}).report();
  check(!first.complete() && first.asked - first.placed <= 2 * unit / base_page_bytes, "held: no other stays",
        text(first));
  const bool is_told = std::all_of(first.refused.begin(), first.refused.end(),
                                   [](const refusal_count& r) { return r.cause == refusal_cause::busy; });
  check(is_told, "held: and it is said why", text(first));
  close(ends[0]);
  close(ends[1]);
  const placement_report again = interleave(values, {}).report();
  check(again.complete() && again.placed == again.asked, "held: placed once it is let go", text(again));
  std::map<int, std::size_t> seen;
  for (const int n : by_kernel(kernel, values, s)) ++seen[n];
  check(seen.size() > 1 && seen.begin()->second * seen.size() == again.asked, "held: as the kernel says");
  check(is_numbered(values), "held: its contents");
}

/// A pattern too fine for policies, on memory that nobody has touched: pages are made before they are moved, and huge
/// ones are moved whole.
void fine_and_untouched(truth& kernel, const setting& s) {
  // More runs than mappings are allowed, also where a domain without memory shares the node of the one before.
  const fresh memory(14 * huge_bytes);
  const auto values = memory.values();
  const auto d = block_cyclic(values.size(), elements_per_page<double>(), domain_set::all());
  const placement_report r = enforce(d, values).report();
  check(r.complete() && r.placed == r.asked, "fine, untouched: complete", text(r));
  check(s.huge == (r.mixed > 0), "fine, untouched: huge pages have one home each", std::to_string(r.mixed));
  const auto nodes = by_kernel(kernel, values, s);
  check(s.huge || at_home(d, nodes) == nodes.size(), "fine, untouched: as the kernel says",
        std::to_string(at_home(d, nodes)));
}

/// Shared memory that was written through a system call: no page table has it until somebody maps it.
void shared_and_unmapped(truth& kernel, const setting& s) {
  const auto machine = topology::current();
  const domain_index last{static_cast<std::uint32_t>(machine.domains().size() - 1)};
  constexpr std::size_t bytes = 64 * base_page_bytes;
  const int file = memfd_create("shared", 0);
  if (file < 0 || ftruncate(file, 2 * bytes) != 0) give_up("no memfd");
  in_domain(domain_index{0}, [&] {
    const std::vector<char> zeros(bytes, 'x');
    check(write(file, zeros.data(), bytes) == static_cast<ssize_t>(bytes), "shared: half of it is written");
  });
  void* const at = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) give_up("no mapping");
  const std::span<double> values(static_cast<double*>(at), 2 * bytes / sizeof(double));
  const page_census before = where(values);
  check(before.untouched == 64 && before.unknown == 64, "shared: what is there is not untouched",
        std::to_string(before.untouched));
  const placed_range placed = localize(values, last);
  const placement_report& r = placed.report();
  check(r.placed == 64 && r.later == 64, "shared: what is there is moved", text(r));
  for (double& v : values) v = 1;
  const auto nodes = by_kernel(kernel, values, s);
  const auto there = std::count(nodes.begin(), nodes.end(), to_number(machine.memory_id(last)));
  check(static_cast<std::size_t>(there) == nodes.size(), "shared: as the kernel says", std::to_string(there));
  munmap(at, 2 * bytes);
  close(file);
}

void localized(truth& kernel, const setting& s) {
  const auto machine = topology::current();
  for (const auto& n : machine.nodes()) {
    if (n.memory != topology::node_memory::usable) continue;
    const fresh memory(huge_bytes);
    const auto values = memory.values();
    number(values, domain_index{0});
    placement_options options;
    options.who = access::exclusive;
    const placed_range placed = localize(values, n.index, options);
    const auto nodes = by_kernel(kernel, values, s);
    const auto there = std::count(nodes.begin(), nodes.end(), to_number(n.id));
    // Copying needs a thread there: memory without CPUs can't be had that way.
    if (n.cpus.empty() && placed.report().placed != placed.report().asked) {
      check(!placed.report().refused.empty(), "localize: a node without CPUs, refused and said", text(placed.report()));
      continue;
    }
    check(placed.report().complete() && static_cast<std::size_t>(there) == nodes.size(),
          "localize: node " + std::to_string(to_number(n.id)), text(placed.report()));
  }
}

/// A thread of another domain uses enforced pages and others like them, until the kernel has brought it some of the
/// others.
void against_balancing(truth& kernel) {
  const auto machine = topology::current();
  const auto domains = static_cast<std::uint32_t>(machine.domains().size());
  const fresh memory(domains * huge_bytes), control(huge_bytes);
  const auto values = memory.values(), others = control.values();
  const auto d = block(values.size(), domain_set::all(), elements_per_page<double>());
  number(values, domain_index{0});
  number(others, domain_index{0});
  const placed_range placed = enforce(d, values);
  const int before = to_number(machine.memory_id(domain_index{0}));
  // Linux 6.1 does not tell where pages are that the balancing watches just now: they are negative here.
  const auto some_have_gone = [&] {
    const auto nodes = kernel.nodes(others.data(), control.bytes());
    return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node >= 0 && node != before; });
  };
  bool at_work = false;
  in_domain(domain_index{domains - 1}, [&] {
    for (int round = 0; round != 100 && !at_work; ++round) {
      for (int sweep = 0; sweep != 50; ++sweep) {
        for (std::size_t i = 0; i < values.size(); i += 64) values[i] = static_cast<double>(i);
        for (std::size_t i = 0; i < others.size(); i += 64) others[i] = static_cast<double>(i);
      }
      at_work = some_have_gone();
    }
  });
  check(at_work, "balancing is at work: it moved pages that nobody had placed");
  const page_census census = where(others);
  check(census.untouched == 0, "where() says of no page that it is not there", std::to_string(census.untouched));
  const verification v = verify(d, values);
  check(v.at_home == v.asked, "verify() finds each enforced page at home", std::to_string(v.at_home));
  const auto nodes = kernel.nodes(values.data(), memory.bytes());
  check(at_home(d, nodes) == nodes.size(), "and no enforced page", std::to_string(at_home(d, nodes)));
}

}  // namespace

int main(int argc, char** argv) {
  const words given(argc, argv);
  const setting s{given.has("sandbox"), given.has("huge"), given.has("balancing")};
  truth kernel;
  if (s.sandbox && !homing::testing::refuse(homing::testing::docker, EPERM)) give_up("no filter can be set here");
  const auto machine = topology::current();
  const auto domains = static_cast<std::uint32_t>(machine.domains().size());
  check(!machine.is_virtual() && domains > 1, "a machine with several domains, and no made-up one", machine.describe());
  if (s.balancing) against_balancing(kernel);
  const std::size_t size = domains * block_bytes / sizeof(double);
  distribution(kernel, "block", block(size, domain_set::all(), huge_bytes / sizeof(double)), s);
  const std::size_t grain = (s.huge ? huge_bytes : 16 * base_page_bytes) / sizeof(double);
  distribution(kernel, "block-cyclic", block_cyclic(size, grain, domain_set::all()), s);
  untouched(kernel, s);
  interleaved(kernel, s);
  if (!s.sandbox && !s.balancing) {  // while the kernel watches pages that lie on several nodes, it does not tell where
    held(kernel, s);
    fine_and_untouched(kernel, s);
    shared_and_unmapped(kernel, s);
  }
  localized(kernel, s);
  return verdict();
}
