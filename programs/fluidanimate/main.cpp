// Fluidanimate: a column of fluid falls into its tank, frame by frame; each frame has phases, each phase a loop over
// rows of cells, whose partitions have their homes (TBB-NUMA, figure 13).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "../common/models.hpp"
#include "fluid.hpp"

namespace {

using namespace programs;

/// Particles along the width of the column, which is twice as high, and across the tank; frames.
struct input {
  std::size_t width;
  std::size_t depth;
  int frames;
};
constexpr input inputs[] = {{8, 4, 24}, {10, 5, 640}, {32, 17, 5}, {46, 24, 5}, {66, 34, 5}, {79, 40, 500}};
constexpr size_name sizes[] = {{"test", "512 particles, 24 frames"},
                               {"dam", "1,000 particles until the front has gone three widths, 640 frames"},
                               {"simsmall", "35 K particles, 5 frames"},
                               {"simmedium", "100 K particles, 5 frames"},
                               {"simlarge", "300 K particles, 5 frames"},
                               {"native", "500 K particles, 500 frames"}};

fluid::flow flow_of(const input& in) {
  fluid::flow f{};
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

struct totals {
  std::size_t particles = 0;
  std::size_t lost = 0;
  double front = 0;
  double energy = 0;           ///< that of motion and of height
  double push[3] = {0, 0, 0};  ///< of all pairs together: nothing but rounding
  double push_of_all = 0;      ///< without signs
};

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : request_(r),
        input_(inputs[r.size]),
        model_(model),
        flow_(flow_of(input_)),
        rows_(flow_.rows()),
        cells_(flow_.rows() * flow_.cells[1]),
        next_(cells_.size()) {
    clear();
    const auto homes = homing::block(cells_.size(), homing::domain_set::all(), flow_.cells[1]);
    model_.place(homes, cells_);
    model_.place(homes, next_);
  }
  void reset() {
    clear();
    for (std::size_t i = 0; i < input_.width; ++i) {
      for (std::size_t j = 0; j < 2 * input_.width; ++j) {
        for (std::size_t k = 0; k < input_.depth; ++k) put({place(i), place(j), place(k)});
      }
    }
    at_start_ = sum();
  }
  void run() {
    for (int frame = 0; frame < input_.frames; ++frame) {
      phase([this](std::size_t row) { fluid::rebuild(flow_, cells_.data(), next_.data(), row); });
      std::swap(cells_, next_);
      phase([this](std::size_t row) { fluid::densities(flow_, cells_.data(), row); });
      phase([this](std::size_t row) { fluid::forces(flow_, cells_.data(), row); });
      phase([this](std::size_t row) { fluid::advance(flow_, cells_.data(), row); });
      if (request_.check && request_.size == 1) follow_front(frame);
    }
  }
  [[nodiscard]] std::string wrong() {
    const totals now = sum();
    if (now.lost > 0 || now.particles != at_start_.particles) {
      return std::to_string(now.particles) + " particles of " + std::to_string(at_start_.particles) + ", " +
             std::to_string(now.lost) + " lost";
    }
    for (const double push : now.push) {
      if (std::abs(push) > 1e-4 * now.push_of_all) return "neighbours' forces add up to " + std::to_string(push);
    }
    if (now.energy > at_start_.energy * 1.01) return "energy grew to " + std::to_string(now.energy);
    if (request_.size == 1 && !front_.empty()) return front_;
    if constexpr (!std::is_same_v<Model, serial_model>) {
      serial_model one(1);
      request same = request_;
      same.check = false;
      solver<serial_model> serial(same, one);
      serial.reset();
      serial.run();
      return same_as(serial.cells()) ? "" : "not the serial result, bit by bit";
    }
    return "";
  }
  [[nodiscard]] const array<fluid::cell>& cells() const { return cells_; }
  [[nodiscard]] std::vector<homing::memory_range> data() const { return {cells_.range(), next_.range()}; }
  /// Thousands of particles in a frame.
  [[nodiscard]] double amount() const { return static_cast<double>(at_start_.particles) * input_.frames / 1e3; }
  [[nodiscard]] std::string note() const { return note_; }

 private:
  template <class F>
  void phase(const F& f) {
    model_.loop(rows_, [&f](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) f(row);
    });
  }
  void clear() {
    phase([this](std::size_t row) {
      const std::size_t height = flow_.cells[1];
      std::memset(static_cast<void*>(&cells_[row * height]), 0, height * sizeof(fluid::cell));
      std::memset(static_cast<void*>(&next_[row * height]), 0, height * sizeof(fluid::cell));
    });
  }
  [[nodiscard]] float place(std::size_t i) const { return (static_cast<float>(i) + 0.5F) * flow_.spacing; }
  void put(const std::array<float, 3>& at) {
    fluid::cell& c = cells_[flow_.cell_of(at)];
    for (std::size_t d = 0; d < 3; ++d) c.at[d][c.count] = at[d];
    ++c.count;
  }
  [[nodiscard]] totals sum() const {
    totals t;
    for (const fluid::cell& c : cells_) {
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
  /// Martin and Moyce, 1952, figure 3, a column twice as high as wide: the front when so many widths from the back
  /// wall, and the time, in units of sqrt(width / 2 g).
  void follow_front(int frame) {
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
  [[nodiscard]] bool same_as(const array<fluid::cell>& other) const {
    for (std::size_t n = 0; n < cells_.size(); ++n) {
      if (cells_[n].count != other[n].count) return false;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::size_t bytes = cells_[n].count * sizeof(float);
        if (std::memcmp(cells_[n].at[d].data(), other[n].at[d].data(), bytes) != 0) return false;
        if (std::memcmp(cells_[n].speed[d].data(), other[n].speed[d].data(), bytes) != 0) return false;
      }
    }
    return true;
  }

  request request_;
  const input& input_;
  Model& model_;
  fluid::flow flow_;
  space rows_;
  array<fluid::cell> cells_, next_;
  totals at_start_;
  std::size_t reached_ = 0;
  double latest_ = 0;
  std::string front_;
  std::string note_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_loops<solver>(argc, argv, {"fluidanimate", "A column of fluid falls into its tank.", "kparticle", sizes});
}
