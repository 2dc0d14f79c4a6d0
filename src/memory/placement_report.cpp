/// What enforce(), verify() and where() found, in numbers and in words.
#include <homing/placement.hpp>

#include <cstring>

namespace homing {
namespace {

std::string counted(std::size_t pages) { return std::to_string(pages) + (pages == 1 ? " page" : " pages"); }

}  // namespace

const char* describe(refusal_cause cause) noexcept {
  switch (cause) {
    case refusal_cause::not_permitted:
      return "the kernel or a sandbox refuses it: allow mbind and move_pages; or copy, with access::exclusive and "
             "sched_setaffinity, which no memory tier has a CPU for";
    case refusal_cause::not_exclusive:
      return "it would have to be copied, and copying needs access::exclusive";
    case refusal_cause::not_anonymous:
      return "it would have to be copied, and only private anonymous memory that is not locked can be";
    case refusal_cause::mapped_elsewhere:
      return "another process maps the page, too; place it there, or before it is shared";
    case refusal_cause::read_only_file:
      return "a read-only mapping of a file; read the file into memory of your own";
    case refusal_cause::no_memory:
      return "the home node is full, or the process has no mappings left (vm.max_map_count)";
    case refusal_cause::busy:
      return "the kernel holds the page at this moment; call again";
    case refusal_cause::not_mapped:
      return "no memory is mapped there";
    case refusal_cause::bad_node:
      return "the kernel does not let this process use that node";
    case refusal_cause::not_touched:
      return "not touched yet, and no policy could be set, or a shared file's page, which ignores it; touch it "
             "and call again";
    case refusal_cause::not_attempted:
      return "stopped at the first refusal, as asked";
    case refusal_cause::elsewhere:
      break;
  }
  return "nobody refused, but the page is on another node";
}

std::string placement_report::describe() const {
  if (one_node) return counted(asked) + ", and one node to be on: nothing to do";
  std::string text = counted(asked) + " asked, " + std::to_string(placed) + " placed";
  if (asked == 0) text = "no whole page in the range has a home: nothing to place";
  if (is_virtual) text += " (virtual)";
  if (later > 0) text += ", " + std::to_string(later) + " when touched";
  if (unknown > 0) text += ", " + std::to_string(unknown) + " unknown";
  if (mixed > 0) text += "; " + counted(mixed) + " shared by several homes went to the larger part";
  if (edge > 0) text += "; " + counted(edge) + " at the ends shared with neighbours left alone";
  for (const refusal_count& r : refused) {
    text += "\n" + counted(r.pages) + " refused: " + homing::describe(r.cause);
    if (r.error_number == 0) continue;
    // These causes have the errno of what copying would be in place of.
    const bool is_of_others = r.cause == refusal_cause::not_exclusive || r.cause == refusal_cause::not_anonymous;
    text += std::string(is_of_others ? " (otherwise: " : " (") + std::strerror(r.error_number) + ")";
  }
  return text;
}

std::size_t page_census::on(node_id node) const noexcept {
  for (const node_pages& n : nodes) {
    if (n.node == node) return n.pages;
  }
  return 0;
}

double verification::share_at_home() const noexcept {
  const std::size_t known = at_home + away;
  return known == 0 ? 1.0 : static_cast<double>(at_home) / static_cast<double>(known);
}

}  // namespace homing
