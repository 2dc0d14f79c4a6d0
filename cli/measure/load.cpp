#include "measure/load.hpp"

#include <algorithm>
#include <chrono>

#include "measure/kernels.hpp"

namespace homing::measure {
namespace {

std::size_t share_of(std::size_t bytes, std::size_t readers) {
  return std::max(bytes / readers / paced_load::chunk_bytes, std::size_t{1}) * paced_load::chunk_bytes;
}

void wait_ns(std::uint64_t delay) noexcept {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(delay);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

paced_load::paced_load(std::size_t readers, std::size_t bytes, node_index node, page_wish pages)
    : share_bytes_(share_of(bytes, readers)), memory_(share_bytes_ * readers, node, pages), counters_(readers) {}

double* paced_load::share(std::size_t number) const noexcept {
  return reinterpret_cast<double*>(memory_.data() + number * share_bytes_);
}

void paced_load::touch(std::size_t number) noexcept { std::fill_n(share(number), share_bytes_ / sizeof(double), 1.0); }

// relaxed, here and below: the counters order nothing; the team's lock lies between reset() and the readers.
void paced_load::reset() noexcept {
  for (counter& c : counters_) c.bytes.store(0, sync::relaxed);
  stopped_.store(false, sync::relaxed);
}

void paced_load::read(std::size_t number, std::uint64_t delay_ns) noexcept {
  counter& mine = counters_[number];
  const double* const from = share(number);
  for (std::size_t at = 0; !stopped_.load(sync::relaxed); at = (at + chunk_bytes) % share_bytes_) {
    mine.sum += read_through(from + at / sizeof(double), chunk_bytes);
    mine.bytes.fetch_add(chunk_bytes, sync::relaxed);
    if (delay_ns > 0) wait_ns(delay_ns);
  }
}

std::uint64_t paced_load::bytes_read() const noexcept {
  std::uint64_t sum = 0;
  for (const counter& c : counters_) sum += c.bytes.load(sync::relaxed);
  return sum;
}

}  // namespace homing::measure
