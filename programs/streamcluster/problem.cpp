#include "problem.hpp"

#include <cmath>
#include <numeric>
#include <span>

namespace streamcluster {
namespace {

constexpr input inputs[] = {{{4, 8}, 8, 384, 128},         {{4, 8}, 64, 2048, 2048},
                            {{10, 20}, 32, 4096, 4096},    {{10, 20}, 64, 8192, 8192},
                            {{10, 20}, 128, 16384, 16384}, {{10, 20}, 128, 1'000'000, 200'000}};
constexpr programs::size_name sizes[] = {{"test", "384 points of 8 numbers, in batches of 128"},
                                         {"lab", "2,048 of 64, and few centres: for an emulated machine"},
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

/// A plain local search from the first points: tries all ways to move a centre, to open one and to close one, as far as
/// so many are wanted, until none is better. Returns what points and centres cost then.
double exhaustive_cost(const points& p, std::size_t count, double z, const bounds& wanted) {
  std::vector<std::uint32_t> centres(wanted.k_least);
  std::iota(centres.begin(), centres.end(), 0U);
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
      if (other.size() < wanted.k_least || other.size() > wanted.k_most) return;
      const double cost = cost_of(other);
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

/// How the serial variant deals: not at all.
struct no_loops {
  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) const {
    f(std::size_t{0}, blocks.size());
  }
};

}  // namespace

problem::problem(const request& r) : request_(r), input_(inputs[r.size]), stream_(input_.points * input_.dims) {
  make_points({stream_.data(), stream_.size()}, input_.dims, r.seed);
}

void problem::read_batch(std::size_t b) {
  std::copy_n(&stream_[b * input_.batch * input_.dims], input_.batch * input_.dims, now_.at);
  std::fill_n(now_.weight, input_.batch, 1.0F);
}

void problem::keep_centres(const std::vector<std::uint32_t>& found) {
  const std::size_t before = left_;
  left_ += found.size();
  for (std::size_t c = 0; c < found.size(); ++c) {
    std::copy_n(now_.all().point(found[c]), input_.dims, centres_.at + (before + c) * input_.dims);
    centres_.weight[before + c] = 0;
  }
  for (std::size_t i = 0; i < input_.batch; ++i) centres_.weight[before + now_.owner[i]] += 1;
}

std::string problem::wrong() const {
  const batch_in_pages now(points_a_batch(), dims());
  const batch_in_pages centres(centres_most(), dims());
  problem serial(request_);
  serial.see(now.seen, centres.seen);
  no_loops one_thread;
  serial.run(one_thread);
  if (serial.cost_ != cost_ || serial.final_ != final_) return "not the serial cost and centres, bit by bit";
  const std::size_t k = final_.size() / input_.dims;
  if (k < input_.wanted.k_least || k > input_.wanted.k_most) return std::to_string(k) + " centres";
  if (request_.size > 0) return "";
  // The last batch is still there.
  const std::span<const float> costs(now_.cost, input_.batch);
  double cost = z_ * static_cast<double>(std::ranges::count(costs, 0.0F));
  for (const float c : costs) cost += static_cast<double>(c);
  const double best = exhaustive_cost(now_.all(), input_.batch, z_, input_.wanted);
  // Both are local searches, which end where no one move helps. Of the seeds 1 to 1,000 three are more than 1% dearer,
  // and none more than 2%.
  return cost <= 1.05 * best ? ""
                             : "cost " + std::to_string(cost) + ", exhaustive search finds " + std::to_string(best);
}

std::vector<homing::memory_range> problem::data() const {
  return {{now_.at, now_.count * now_.dims * sizeof(float)},
          {now_.weight, now_.count * sizeof(float)},
          {now_.owner, now_.count * sizeof(std::uint32_t)},
          {now_.cost, now_.count * sizeof(float)}};
}

programs::description about() noexcept { return {"streamcluster", "On-line k-median clustering.", "kpoint", sizes}; }

}  // namespace streamcluster
