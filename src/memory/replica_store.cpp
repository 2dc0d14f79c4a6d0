/// An original and its copies, each a mapping of its own, placed before it is first touched.
#include <homing/detail/replica_store.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "platform/address_space.hpp"

namespace homing::detail {
namespace {

// Pages of one domain, unmapped at the end.
class home_pages {
 public:
  home_pages(std::size_t bytes, std::size_t alignment, domain_index home, const placement_options& options) {
    if (bytes == 0) return;
    if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) throw std::bad_alloc();
    const std::size_t room = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
    pages_ = platform::kernel_address_space().map(0, room, std::max(alignment, page_bytes()));
    if (pages_.bytes() == 0) throw std::bad_alloc();
    try {
      placement_ = localize({data(), room}, home, options);
    } catch (...) {
      platform::kernel_address_space().unmap(pages_);
      throw;
    }
  }
  home_pages(home_pages&& other) noexcept
      : pages_(std::exchange(other.pages_, {})), placement_(std::move(other.placement_)) {}
  home_pages& operator=(home_pages&&) = delete;
  ~home_pages() {
    if (pages_.bytes() == 0) return;
    placement_.reset();  // the memory goes away with its policy, but a made-up machine's book has to hear of it
    platform::kernel_address_space().unmap(pages_);
  }
  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(pages_.first); }
  [[nodiscard]] const placement_report& report() const noexcept { return placement_.report(); }

 private:
  platform::address_range pages_{};
  placed_range placement_;
};

void add(placement_report& sum, const placement_report& one) {
  sum.asked += one.asked;
  sum.placed += one.placed;
  sum.later += one.later;
  sum.unknown += one.unknown;
  sum.moved += one.moved;
  sum.grain_bytes = std::max(sum.grain_bytes, one.grain_bytes);
  sum.by_policy = sum.by_policy || one.by_policy;
  sum.by_moving = sum.by_moving || one.by_moving;
  sum.by_copying = sum.by_copying || one.by_copying;
  sum.one_node = sum.one_node || one.one_node;
  sum.is_virtual = sum.is_virtual || one.is_virtual;
  for (const refusal_count& r : one.refused) {
    const auto same = std::find_if(sum.refused.begin(), sum.refused.end(), [&](const refusal_count& known) {
      return known.cause == r.cause && known.error_number == r.error_number;
    });
    if (same == sum.refused.end()) {
      sum.refused.push_back(r);
    } else {
      same->pages += r.pages;
    }
  }
}

}  // namespace

struct replica_store::state {
  std::size_t bytes;
  std::vector<home_pages> copies;    // the first is the original
  std::vector<std::size_t> copy_of;  // by domain
  placement_report report;
};

replica_store::replica_store(std::size_t bytes, std::size_t alignment, const domain_set& over,
                             const placement_options& options)
    : state_(std::make_unique<state>()) {
  // New memory is ours alone.
  placement_options ours = options;
  ours.who = access::exclusive;
  const topology::snapshot machine = topology::current();
  state_->bytes = bytes;
  std::vector<node_index> node_of_copy;
  for (std::uint32_t i = 0; i < over.size(); ++i) {
    const node_index node = machine.at(over[i]).memory_node;
    if (std::find(node_of_copy.begin(), node_of_copy.end(), node) != node_of_copy.end()) continue;
    state_->copies.emplace_back(bytes, alignment, over[i], ours);
    node_of_copy.push_back(node);
    add(state_->report, state_->copies.back().report());
  }
  for (const topology::domain_info& d : machine.domains()) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < node_of_copy.size(); ++c) {
      const auto distance = [&](std::size_t copy) { return machine.distance(d.memory_node, node_of_copy[copy]); };
      if (distance(c) < distance(best)) best = c;
    }
    state_->copy_of.push_back(best);
  }
}

replica_store::replica_store(replica_store&& other) noexcept = default;
replica_store& replica_store::operator=(replica_store&& other) noexcept = default;
replica_store::~replica_store() = default;

void* replica_store::original() noexcept { return state_->copies.front().data(); }

// A machine that was refreshed meanwhile may have more domains: they read the original.
const void* replica_store::copy_of(domain_index domain) const noexcept {
  const std::size_t d = to_index(domain);
  return state_->copies[d < state_->copy_of.size() ? state_->copy_of[d] : 0].data();
}

std::size_t replica_store::copy_count() const noexcept { return state_->copies.size() - 1; }
const placement_report& replica_store::report() const noexcept { return state_->report; }

void replica_store::write(const void* from) noexcept {
  if (state_->bytes > 0) std::memcpy(original(), from, state_->bytes);
}

void replica_store::refresh() noexcept {
  for (std::size_t c = 1; c < state_->copies.size() && state_->bytes > 0; ++c) {
    std::memcpy(state_->copies[c].data(), original(), state_->bytes);
  }
}

}  // namespace homing::detail
