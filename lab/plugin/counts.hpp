/// What is counted, for each CPU and apart for the program and the kernel, and the difference between two moments.
///
/// Threads: add() by the CPU's own thread; reading by any, which may miss what is being added.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace homing::lab::model {

/// Who served an access. The last four are those of TBB-NUMA's figure 15.
enum class source : std::uint8_t { private_cache, local_cache, remote_cache, local_dram, remote_dram };
inline constexpr unsigned sources = 5;

enum class who : std::uint8_t { program, kernel };

/// The single figures; after them come the rows by node and by link.
enum class figure : std::uint8_t {
  instructions,
  loads,
  stores,
  first_source,
  unplaced = first_source + sources,
  upgrades,
  write_backs,
  overlapped,
  size
};

/// Where each figure is in one CPU's row.
class count_layout {
 public:
  count_layout(unsigned nodes, unsigned links) : nodes_(nodes), links_(links) {}
  [[nodiscard]] unsigned at(figure f) const { return static_cast<unsigned>(f); }
  [[nodiscard]] unsigned at(source s) const { return at(figure::first_source) + static_cast<unsigned>(s); }
  [[nodiscard]] unsigned dram(unsigned home) const { return at(figure::size) + home; }
  [[nodiscard]] unsigned cache(unsigned server) const { return dram(nodes_) + server; }
  [[nodiscard]] unsigned local_cache(unsigned home) const { return cache(nodes_) + home; }
  [[nodiscard]] unsigned link_lines(unsigned link) const { return local_cache(nodes_) + link; }
  [[nodiscard]] unsigned size() const { return link_lines(links_); }
  [[nodiscard]] unsigned nodes() const { return nodes_; }
  [[nodiscard]] unsigned links() const { return links_; }

 private:
  unsigned nodes_, links_;
};

/// One CPU's figures at a moment, or how much they grew.
using count_row = std::vector<std::uint64_t>;

class cpu_counts {
 public:
  explicit cpu_counts(const count_layout& layout)
      : size_(layout.size()), at_{std::make_unique<cell[]>(size_), std::make_unique<cell[]>(size_)} {}

  void add(who w, unsigned index, std::uint64_t amount = 1) noexcept {
    // Relaxed: one writer; a reader takes any recent value.
    cell& c = at_[static_cast<unsigned>(w)][index];
    c.store(c.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] count_row read(who w) const {
    count_row row(size_);
    for (unsigned i = 0; i != size_; ++i) row[i] = at_[static_cast<unsigned>(w)][i].load(std::memory_order_relaxed);
    return row;
  }

 private:
  using cell = std::atomic<std::uint64_t>;
  unsigned size_;
  std::unique_ptr<cell[]> at_[2];
};

}  // namespace homing::lab::model
