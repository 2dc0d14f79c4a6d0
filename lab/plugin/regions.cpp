#include "regions.hpp"

#include <algorithm>

namespace homing::lab::model {
namespace {

void add_difference(count_row& sum, const count_row& from, const count_row& to) {
  sum.resize(to.size(), 0);
  for (std::size_t i = 0; i != to.size(); ++i) sum[i] += to[i] - from[i];
}

}  // namespace

regions::moment regions::now() const {
  moment m;
  m.front = clocks_.front();
  m.waits = clocks_.waits();
  m.given_up = clocks_.given_up();
  for (const cpu_state& cpu : cpus_) {
    const ticks skipped = cpu.skipped.load(std::memory_order_relaxed);
    m.cpus.push_back({cpu.counts.read(who::program), cpu.counts.read(who::kernel), cpu.now() - skipped});
  }
  return m;
}

void regions::add(region_total& total, const moment& from, const moment& to) {
  total.virtual_time += to.front - from.front;
  total.waits += to.waits - from.waits;
  total.given_up += to.given_up - from.given_up;
  total.cpus.resize(to.cpus.size());
  for (std::size_t i = 0; i != to.cpus.size(); ++i) {
    add_difference(total.cpus[i].program, from.cpus[i].program, to.cpus[i].program);
    add_difference(total.cpus[i].kernel, from.cpus[i].kernel, to.cpus[i].kernel);
    // Both are read while the CPU runs: the difference may be short of nothing.
    total.cpus[i].busy += to.cpus[i].busy - std::min(from.cpus[i].busy, to.cpus[i].busy);
  }
}

void regions::open_whole() {
  const std::lock_guard guard(lock_);
  whole_.total.label = whole;
  open(whole_);
}

bool regions::open(const std::string& label) {
  if (label == whole) return true;
  const std::lock_guard guard(lock_);
  if (regions_.size() == labels_max && !regions_.contains(label)) {
    ++left_out_;
    return false;
  }
  const auto [at, is_new] = regions_.try_emplace(label);
  region& r = at->second;
  if (is_new) {
    r.order = regions_.size();
    r.total.label = label;
  }
  open(r);
  return true;
}

void regions::open(region& r) {
  if (r.depth++ != 0) return;
  ++r.total.entries;
  r.opened = now();
  clocks_.raise_floor(r.opened.front);
}

bool regions::close(const std::string& label) {
  const std::lock_guard guard(lock_);
  const auto at = regions_.find(label);
  if (at == regions_.end() || at->second.depth == 0) return false;
  region& r = at->second;
  if (--r.depth == 0) add(r.total, r.opened, now());
  return true;
}

std::vector<region_total> regions::totals() const {
  const std::lock_guard guard(lock_);
  std::vector<const region*> order;
  if (whole_.depth != 0) order.push_back(&whole_);  // order 0
  for (const auto& [label, r] : regions_) order.push_back(&r);
  std::sort(order.begin(), order.end(), [](const region* a, const region* b) { return a->order < b->order; });
  std::vector<region_total> result;
  for (const region* r : order) {
    result.push_back(r->total);
    if (r->depth != 0) add(result.back(), r->opened, now());
  }
  return result;
}

void letters::add(std::uint64_t sender, char letter) {
  const std::lock_guard guard(lock_);
  std::string& label = labels_[sender];
  if (label.size() < note_max) label += letter;
}

std::string letters::take(std::uint64_t sender) {
  std::string label = take_bytes(sender, length_max);
  std::replace_if(
      label.begin(), label.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return label;
}

std::string letters::take_note(std::uint64_t sender) {
  std::string note = take_bytes(sender, note_max);
  const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == 0x7f; };
  std::replace_if(note.begin(), note.end(), is_control, '?');
  return note;
}

std::string letters::take_bytes(std::uint64_t sender, std::size_t length) {
  const std::lock_guard guard(lock_);
  std::string label = std::move(labels_[sender]);
  labels_.erase(sender);
  if (label.size() > length) label.resize(length);
  return label.empty() ? "unnamed" : label;
}

}  // namespace homing::lab::model
