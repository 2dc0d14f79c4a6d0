#include "measure/placed_buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "measure/units.hpp"
#include "platform/page_calls.hpp"

namespace homing::measure {
namespace {

constexpr std::size_t alignment = std::size_t{2} << 20;  // of huge pages

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::string first_refusal(const placement_report& report) {
  if (report.refused.empty()) return "";
  const refusal_count& r = report.refused.front();
  const std::string error = r.error_number == 0 ? "" : std::string(" (") + std::strerror(r.error_number) + ")";
  return std::string(": ") + describe(r.cause) + error;
}

std::string where_instead(const page_census& census, node_id wanted) {
  std::string text;
  for (const node_pages& n : census.nodes) {
    if (n.node == wanted) continue;
    text +=
        fmt::format("{}{} on node {}", text.empty() ? "" : ", ", size_text(n.pages * page_bytes()), to_number(n.node));
  }
  if (census.unknown > 0) {
    text += fmt::format("{}{} the kernel does not tell where", text.empty() ? "" : ", ",
                        size_text(census.unknown * page_bytes()));
  }
  return text;
}

}  // namespace

const char* name_of(page_wish wish) noexcept {
  switch (wish) {
    case page_wish::base:
      return "base";
    case page_wish::huge:
      return "huge";
    case page_wish::system:
      break;
  }
  return "system";
}

memory_fact together(const memory_fact& a, const memory_fact& b) {
  return {a.bytes + b.bytes, a.at_home + b.at_home, a.huge + b.huge, std::max(a.page_bytes, b.page_bytes),
          a.why_not.empty() ? b.why_not : a.why_not};
}

placed_buffer::placed_buffer(std::size_t bytes, node_index node, page_wish wish)
    : node_(node), bytes_(round_up(bytes, page_bytes())) {
  // Pages without access on both sides: the kernel lists and counts what lies between as a mapping of its own.
  mapping_bytes_ = round_up(bytes_, alignment) + 2 * alignment;
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    throw std::runtime_error("can't map " + size_text(bytes_) + ": " + std::strerror(errno));
  }
  const auto from = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + (round_up(from + 1, alignment) - from);
  if (::mprotect(data_, bytes_, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    ::munmap(mapping_, mapping_bytes_);
    throw std::runtime_error("can't map " + size_text(bytes_) + ": " + std::strerror(error));
  }
  // A kernel without huge pages refuses; fact() tells what was got.
  if (wish == page_wish::huge) ::madvise(data_, bytes_, MADV_HUGEPAGE);
  if (wish == page_wish::base) ::madvise(data_, bytes_, MADV_NOHUGEPAGE);
  // Strict: the kernel then drops files' pages to make room, and does not go to the next node.
  placed_ = localize({data_, bytes_}, node_, {.who = access::exclusive, .strength = binding::strict});
}

placed_buffer::~placed_buffer() {
  placed_.reset();
  ::munmap(mapping_, mapping_bytes_);
}

memory_fact placed_buffer::fact() const {
  const topology::snapshot machine = topology::current();
  memory_fact fact;
  fact.page_bytes = page_bytes();
  const auto first = reinterpret_cast<platform::address>(data_);
  for (const platform::mapping& m : platform::kernel_page_calls().mappings({first, first + bytes_}).all) {
    fact.huge += m.huge_bytes;
  }
  const page_census census = where({data_, bytes_});
  const node_id wanted = machine.at(node_).id;
  fact.bytes = (census.pages - census.untouched) * fact.page_bytes;
  if (machine.is_virtual()) {
    fact.why_not = "the node is made up: its memory is this computer's, wherever that is";
    return fact;
  }
  fact.at_home = census.on(wanted) * fact.page_bytes;
  if (fact.at_home != fact.bytes) fact.why_not = where_instead(census, wanted) + first_refusal(placed_.report());
  return fact;
}

}  // namespace homing::measure
