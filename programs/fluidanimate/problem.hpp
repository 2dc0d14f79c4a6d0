// Fluidanimate: a column of fluid falls into its tank, frame by frame; each frame has phases, each of which goes over
// rows of cells, whose partitions have their homes (TBB-NUMA, figure 13).
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../common/at_home.hpp"
#include "../common/parts.hpp"
#include "../common/variants.hpp"
#include "fluid.hpp"

namespace fluid {

using programs::array;
using programs::request;

/// Particles along the width of the column, which is twice as high, and across the tank; frames.
struct input {
  std::size_t width;
  std::size_t depth;
  int frames;
};

struct totals {
  std::size_t particles = 0;
  std::size_t lost = 0;
  double front = 0;
  double energy = 0;           ///< that of motion and of height
  double push[3] = {0, 0, 0};  ///< of all pairs together: nothing but rounding
  double push_of_all = 0;      ///< without signs
};

/// Where rows go, of which each has so many elements: the tank is cut across into slabs of whole layers, with as many
/// inner ones for each domain. So each has its share of the fluid, which flows along the tank, and a domain's slab
/// meets two others only. Where there are fewer inner layers than domains, rows go by number.
[[nodiscard]] homing::regular_distribution<1> slabs(const flow& f, std::size_t row_elements);

/// The p-th of so many slabs, in rows: of whole layers if there are enough inner ones. The first and the last have the
/// ghosts.
[[nodiscard]] programs::interval slab(const flow& f, std::size_t slabs, std::size_t p);

/// The fluid, its phases, and what is known of the result. The cells' memory is the variant's.
///
/// How a phase is dealt is the variant's: its `over(f)` calls f(first, last) for parts of all rows, on any threads, and
/// ends when all have ended.
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] std::size_t cell_count() const { return flow_.rows() * flow_.cells[1]; }
  [[nodiscard]] const homing::regular_distribution<1>& rows() const { return rows_; }
  /// The p-th of so many parts of the rows, each with its share of the fluid.
  [[nodiscard]] programs::interval share_of_rows(std::size_t parts, std::size_t p) const {
    return slab(flow_, parts, p);
  }
  /// A cell's home is that of its row.
  [[nodiscard]] homing::regular_distribution<1> homes_of_cells() const { return slabs(flow_, flow_.cells[1]); }
  /// The cells now and those of the next frame.
  void see(cell* cells, cell* next) { cells_ = cells, next_ = next; }

  template <class Loops>
  void clear(Loops& loops) {
    loops.over(counted([this](std::size_t row) { clear_row(row); }));
  }
  /// Puts the column of fluid into cells that have been cleared.
  void fill();
  template <class Loops>
  void run(Loops& loops) {
    for (int frame = 0; frame < input_.frames; ++frame) {
      phases(loops);
      end_frame(frame);
    }
  }
  /// The phases of one frame; then comes end_frame(), by one thread.
  template <class Loops>
  void phases(Loops& loops) {
    loops.over(counted([this](std::size_t row) { rebuild(flow_, cells_, next_, row); }));
    loops.over(counted([this](std::size_t row) { densities(flow_, next_, row); }));
    loops.over(counted([this](std::size_t row) { forces(flow_, next_, row); }));
    loops.over(counted([this](std::size_t row) { advance(flow_, next_, row); }));
  }
  void end_frame(int frame) {
    std::swap(cells_, next_);
    if (request_.check && is_dam()) follow_front(frame);
  }
  [[nodiscard]] int frames() const { return input_.frames; }

  [[nodiscard]] std::string wrong() const;
  [[nodiscard]] std::vector<homing::memory_range> data() const;
  /// Thousands of particles in a frame.
  [[nodiscard]] double amount() const { return static_cast<double>(at_start_.particles) * input_.frames / 1e3; }
  [[nodiscard]] std::string note() const { return note_; }

 private:
  // A phase of some rows.
  template <class F>
  [[nodiscard]] auto counted(const F& f) const {
    return [this, f](std::size_t first, std::size_t last) {
      programs::count_work(rows_, first, last);
      for (std::size_t row = first; row < last; ++row) f(row);
    };
  }
  [[nodiscard]] bool is_dam() const { return request_.size == 1; }
  void clear_row(std::size_t row) const;
  void put(const std::array<float, 3>& at) const;
  [[nodiscard]] totals sum() const;
  void follow_front(int frame);
  [[nodiscard]] bool same_as(const problem& other) const;

  request request_;
  const input& input_;
  flow flow_;
  homing::regular_distribution<1> rows_;  ///< as slabs() has them
  cell* cells_ = nullptr;
  cell* next_ = nullptr;
  totals at_start_;
  std::size_t reached_ = 0;
  double latest_ = 0;
  std::string front_;
  std::string note_;
};

/// A problem whose cells are in arrays of that kind, made of what `homes` says of the problem.
template <class Array>
class solver_in {
 public:
  template <class Homes>
  solver_in(const request& r, const Homes& homes) : p_(r), cells_(homes(p_)), next_(homes(p_)) {
    p_.see(cells_.data(), next_.data());
  }
  [[nodiscard]] std::string wrong() const { return p_.wrong(); }
  [[nodiscard]] double amount() const { return p_.amount(); }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return p_.data(); }
  [[nodiscard]] std::string note() const { return p_.note(); }

 protected:
  problem p_;

 private:
  Array cells_, next_;
};

/// In plain pages, touched first as the variant's own phases are dealt.
class solver_in_pages : public solver_in<array<cell>> {
 public:
  explicit solver_in_pages(const request& r) : solver_in(r, [](const problem& p) { return p.cell_count(); }) {}
};

[[nodiscard]] programs::description about() noexcept;

}  // namespace fluid
