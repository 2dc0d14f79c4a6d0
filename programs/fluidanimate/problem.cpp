#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

namespace fluid {
namespace {

constexpr input inputs[] = {{8, 4, 24},  {10, 5, 640}, {32, 17, 2},  {32, 17, 5},
                            {46, 24, 5}, {66, 34, 5},  {79, 40, 500}};
constexpr programs::size_name sizes[] = {{"test", "512 particles, 24 frames"},
                                         {"dam", "1,000 particles until the front has gone three widths, 640 frames"},
                                         {"lab", "35 K particles, 2 frames: for an emulated machine"},
                                         {"simsmall", "35 K particles, 5 frames"},
                                         {"simmedium", "100 K particles, 5 frames"},
                                         {"simlarge", "300 K particles, 5 frames"},
                                         {"native", "500 K particles, 500 frames"}};

flow flow_of(const input& in) {
  flow f{};
  f.spacing = 1.0F / static_cast<float>(in.width);
  f.tank = {5, 4, f.spacing * static_cast<float>(in.depth)};
  f.reach = 2.4F * f.spacing;
  for (std::size_t d = 0; d < 3; ++d) f.cells[d] = static_cast<std::size_t>(std::ceil(f.tank[d] / f.reach)) + 2;
  f.mass = f.spacing * f.spacing * f.spacing;
  f.sound = 14;  // ten times the speed that water reaches from a height of 1, so that it is compressed by 1% or so
  f.viscosity = 0.05F;
  f.dt = 0.2F * f.reach / f.sound;
  return f;
}

/// How the serial variant deals: not at all.
struct one_thread_loops {
  std::size_t rows;
  template <class F>
  void over(const F& f) const {
    f(std::size_t{0}, rows);
  }
};

}  // namespace

programs::interval slab(const flow& f, std::size_t slabs, std::size_t p) {
  const std::size_t inner = f.cells[2] - 2;
  if (inner < slabs) return programs::share_of(f.rows(), slabs, p);
  const programs::interval of_inner = programs::share_of(inner, slabs, p);
  const std::size_t first = p == 0 ? 0 : of_inner.first + 1;
  const std::size_t last = p + 1 == slabs ? f.cells[2] : of_inner.last + 1;
  return {first * f.cells[0], last * f.cells[0]};
}

homing::regular_distribution<1> slabs(const flow& f, std::size_t row_elements) {
  const auto all = homing::domain_set::all();
  if (f.cells[2] - 2 < all.size()) return homing::block(f.rows() * row_elements, all, row_elements);
  std::vector<double> rows(all.size());
  for (std::size_t d = 0; d < rows.size(); ++d) rows[d] = static_cast<double>(slab(f, rows.size(), d).size());
  const std::size_t layer = f.cells[0] * row_elements;
  return homing::block(f.rows() * row_elements, all, homing::weights(rows), layer);
}

problem::problem(const request& r)
    : request_(r), input_(inputs[r.size]), flow_(flow_of(input_)), rows_(slabs(flow_, 1)) {}

void problem::fill() {
  const auto place = [this](std::size_t i) { return (static_cast<float>(i) + 0.5F) * flow_.spacing; };
  for (std::size_t i = 0; i < input_.width; ++i) {
    for (std::size_t j = 0; j < 2 * input_.width; ++j) {
      for (std::size_t k = 0; k < input_.depth; ++k) put({place(i), place(j), place(k)});
    }
  }
  at_start_ = sum();
}

void problem::clear_row(std::size_t row) const {
  const std::size_t height = flow_.cells[1];
  std::memset(static_cast<void*>(cells_ + row * height), 0, height * sizeof(cell));
  std::memset(static_cast<void*>(next_ + row * height), 0, height * sizeof(cell));
}

void problem::put(const std::array<float, 3>& at) const {
  cell& c = cells_[flow_.cell_of(at)];
  for (std::size_t d = 0; d < 3; ++d) c.at[d][c.count] = at[d];
  ++c.count;
}

totals problem::sum() const {
  totals t;
  for (const cell& c : std::span<const cell>(cells_, cell_count())) {
    t.particles += c.count;
    t.lost += c.lost;
    for (std::size_t i = 0; i < c.count; ++i) {
      double square = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        square += static_cast<double>(c.speed[d][i] * c.speed[d][i]);
        t.push[d] += static_cast<double>(c.push[d][i]);
        t.push_of_all += static_cast<double>(std::abs(c.push[d][i]));
      }
      t.energy += square / 2 + static_cast<double>(c.at[1][i]);
      t.front = std::max(t.front, static_cast<double>(c.at[0][i] + flow_.spacing / 2));
    }
  }
  return t;
}

// Martin and Moyce, 1952, figure 3, a column twice as high as wide: the front when so many widths from the back
// wall, and the time, in units of sqrt(width / 2 g).
void problem::follow_front(int frame) {
  constexpr std::pair<double, double> published[] = {
      {1.44, 1.19}, {1.89, 1.63}, {2.33, 1.98}, {2.78, 2.32}, {3.22, 2.65}};
  if (frame == 0) {
    reached_ = 0;
    latest_ = 0;
  }
  const double front = sum().front;
  const double time = (frame + 1) * static_cast<double>(flow_.dt) * std::sqrt(2.0);
  while (reached_ < std::size(published) && front >= published[reached_].first) {
    latest_ = std::max(latest_, std::abs(time / published[reached_++].second - 1));
  }
  front_ = reached_ < std::size(published) ? "the front stays behind the published one"
           : latest_ > 0.25                ? "the front is off the published curve"
                                           : "";
  char text[80];
  std::snprintf(text, sizeof text, "the front's times are at most %.0f%% off the published ones", 100 * latest_);
  note_ = text;
}

bool problem::same_as(const problem& other) const {
  for (std::size_t n = 0; n < cell_count(); ++n) {
    if (cells_[n].count != other.cells_[n].count) return false;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::size_t bytes = cells_[n].count * sizeof(float);
      if (std::memcmp(cells_[n].at[d].data(), other.cells_[n].at[d].data(), bytes) != 0) return false;
      if (std::memcmp(cells_[n].speed[d].data(), other.cells_[n].speed[d].data(), bytes) != 0) return false;
    }
  }
  return true;
}

std::string problem::wrong() const {
  const totals now = sum();
  if (now.lost > 0 || now.particles != at_start_.particles) {
    return std::to_string(now.particles) + " particles of " + std::to_string(at_start_.particles) + ", " +
           std::to_string(now.lost) + " lost";
  }
  for (const double push : now.push) {
    if (std::abs(push) > 1e-4 * now.push_of_all) return "neighbours' forces add up to " + std::to_string(push);
  }
  if (now.energy > at_start_.energy * 1.01) return "energy grew to " + std::to_string(now.energy);
  if (is_dam() && !front_.empty()) return front_;
  const array<cell> cells(cell_count());
  const array<cell> next(cell_count());
  request same = request_;
  same.check = false;
  problem serial(same);
  serial.see(cells.data(), next.data());
  one_thread_loops loops{flow_.rows()};
  serial.fill();
  serial.run(loops);
  return same_as(serial) ? "" : "not the serial result, bit by bit";
}

std::vector<homing::memory_range> problem::data() const {
  return {{cells_, cell_count() * sizeof(cell)}, {next_, cell_count() * sizeof(cell)}};
}

programs::description about() noexcept {
  return {"fluidanimate", "A column of fluid falls into its tank.", "kparticle", sizes};
}

}  // namespace fluid
