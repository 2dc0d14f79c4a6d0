// Streamcluster: points come in batches; each batch is clustered and leaves its centres, with the weight of their
// points; in the end the centres of all batches are clustered. Gains are computed in parallel (TBB-NUMA, section 5).
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search.hpp"

namespace {

using namespace programs;
using namespace streamcluster;

struct input {
  bounds wanted;
  std::size_t dims;
  std::size_t points;
  std::size_t batch;
};
constexpr input inputs[] = {{{4, 8}, 8, 384, 128},
                            {{10, 20}, 32, 4096, 4096},
                            {{10, 20}, 64, 8192, 8192},
                            {{10, 20}, 128, 16384, 16384},
                            {{10, 20}, 128, 1'000'000, 200'000}};
constexpr size_name sizes[] = {{"test", "384 points of 8 numbers, in batches of 128"},
                               {"simsmall", "4,096 of 32"},
                               {"simmedium", "8,192 of 64"},
                               {"simlarge", "16,384 of 128"},
                               {"native", "1,000,000 of 128, in batches of 200,000; 512 MB"}};
constexpr std::size_t true_clusters = 6;

/// Points in a few clouds, as a stream would bring them.
void make_points(std::span<float> to, std::size_t dims, std::uint64_t seed) {
  for (std::size_t i = 0; i < to.size() / dims; ++i) {
    const std::uint64_t cloud = bench::mix(seed ^ (i << 20)) % true_clusters;
    for (std::size_t k = 0; k < dims; ++k) {
      const auto middle = static_cast<double>(bench::mix(seed + 1000 * cloud + k) >> 11) * 0x1p-53;
      const auto away = static_cast<double>(bench::mix(seed + 7 + i * dims + k) >> 11) * 0x1p-53;
      to[i * dims + k] = static_cast<float>(middle + 0.5 * (away - 0.5));
    }
  }
}

/// Points, weights, owners and costs of one search, in blocks over the domains.
class batch {
 public:
  template <class Model>
  batch(Model& model, std::size_t count, std::size_t dims)
      : blocks((count + points_a_block - 1) / points_a_block),
        dims_(dims),
        at(count * dims),
        weight(count),
        owner(count),
        cost(count) {
    const auto home = [&](std::size_t elements) {
      return homing::block(count * elements, homing::domain_set::all(), points_a_block * elements);
    };
    model.loop(blocks, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first * points_a_block; i < std::min(count, last * points_a_block); ++i) {
        owner[i] = 0;
        cost[i] = 0;
      }
    });
    model.place(home(dims), at);
    model.place(home(1), weight);
    model.place(home(1), owner);
    model.place(home(1), cost);
  }
  [[nodiscard]] points all() const { return {at.data(), weight.data(), owner.data(), cost.data(), dims_}; }

  space blocks;

 private:
  std::size_t dims_;

 public:
  array<float> at;
  array<float> weight;
  array<std::uint32_t> owner;
  array<float> cost;
};

/// A plain local search from one centre: tries all ways to move one, to open one and to close one, until none is
/// better. Returns what points and centres cost then.
double exhaustive_cost(const points& p, std::size_t count, double z) {
  std::vector<std::uint32_t> centres{0};
  const auto cost_of = [&](const std::vector<std::uint32_t>& of) {
    double sum = z * static_cast<double>(of.size());
    for (std::size_t i = 0; i < count; ++i) {
      double least = HUGE_VAL;
      for (const std::uint32_t c : of) {
        least = std::min(least, static_cast<double>(p.weight[i] * distance(p.point(i), p.point(c), p.dims)));
      }
      sum += least;
    }
    return sum;
  };
  double best = cost_of(centres);
  for (bool better = true; better;) {
    better = false;
    const auto consider = [&](std::vector<std::uint32_t> other) {
      const double cost = other.empty() ? HUGE_VAL : cost_of(other);
      if (cost >= best * (1 - 1e-9)) return;
      best = cost;
      centres = std::move(other);
      better = true;
    };
    for (std::uint32_t x = 0; x < count; ++x) {
      auto more = centres;
      more.push_back(x);
      consider(more);
      for (std::size_t c = 0; c < centres.size(); ++c) {
        auto moved = centres;
        moved[c] = x;
        consider(moved);
      }
    }
    for (std::size_t c = 0; c < centres.size(); ++c) {
      auto fewer = centres;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(c));
      consider(fewer);
    }
  }
  return best;
}

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : request_(r),
        input_(inputs[r.size]),
        model_(model),
        stream_(input_.points * input_.dims),
        now_(model, input_.batch, input_.dims),
        centres_(model, (input_.points / input_.batch) * input_.wanted.k_most * 4, input_.dims) {
    make_points({stream_.data(), stream_.size()}, input_.dims, r.seed);
  }
  void reset() {
    left_ = 0;
    final_.clear();
  }
  void run() {
    const std::size_t batches = input_.points / input_.batch;
    for (std::size_t b = 0; b < batches; ++b) {
      read_batch(b);
      search<Model> s(model_, now_.blocks, now_.all(), input_.batch, request_.seed + b);
      cost_ = s.run(input_.wanted);
      z_ = s.z();
      keep_centres(s.centres());
    }
    // The last batch's centres are the result if there was one batch only.
    space some((left_ + points_a_block - 1) / points_a_block);
    search<Model> s(model_, some, centres_.all(), left_, request_.seed);
    if (batches > 1) cost_ = s.run(input_.wanted);
    const std::size_t found = batches > 1 ? s.centres().size() : left_;
    for (std::size_t c = 0; c < found; ++c) {
      const float* const at = centres_.all().point(batches > 1 ? s.centres()[c] : c);
      final_.insert(final_.end(), at, at + input_.dims);
    }
  }
  [[nodiscard]] std::string wrong() const {
    serial_model one(1);
    solver<serial_model> serial(request_, one);
    serial.run();
    if (serial.cost() != cost_ || serial.result() != final_) return "not the serial cost and centres, bit by bit";
    const std::size_t k = final_.size() / input_.dims;
    if (k < input_.wanted.k_least || k > input_.wanted.k_most) return std::to_string(k) + " centres";
    if (request_.size > 0) return "";
    // The last batch is still there.
    const auto own = static_cast<double>(std::ranges::count(now_.cost, 0.0F));
    double cost = z_ * own;
    for (const float c : now_.cost) cost += static_cast<double>(c);
    const double best = exhaustive_cost(now_.all(), input_.batch, z_);
    return cost <= 1.01 * best ? ""
                               : "cost " + std::to_string(cost) + ", exhaustive search finds " + std::to_string(best);
  }
  [[nodiscard]] double cost() const { return cost_; }
  [[nodiscard]] const std::vector<float>& result() const { return final_; }
  [[nodiscard]] std::vector<homing::memory_range> data() const {
    return {now_.at.range(), now_.weight.range(), now_.owner.range(), now_.cost.range()};
  }
  /// Thousands of points.
  [[nodiscard]] double amount() const { return static_cast<double>(input_.points) / 1e3; }

 private:
  void read_batch(std::size_t b) {
    const float* const from = &stream_[b * input_.batch * input_.dims];
    std::copy_n(from, now_.at.size(), now_.at.data());
    std::ranges::fill(now_.weight, 1.0F);
  }
  void keep_centres(const std::vector<std::uint32_t>& found) {
    const std::size_t before = left_;
    left_ += found.size();
    for (std::size_t c = 0; c < found.size(); ++c) {
      std::copy_n(now_.all().point(found[c]), input_.dims, &centres_.at[(before + c) * input_.dims]);
      centres_.weight[before + c] = 0;
    }
    for (std::size_t i = 0; i < input_.batch; ++i) centres_.weight[before + now_.owner[i]] += 1;
  }

  request request_;
  const input& input_;
  Model& model_;
  array<float> stream_;
  batch now_;
  batch centres_;
  std::size_t left_ = 0;  ///< centres of all batches so far
  double cost_ = 0;
  double z_ = 0;
  std::vector<float> final_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_loops<solver>(argc, argv, {"streamcluster", "On-line k-median clustering.", "kpoint", sizes});
}
