// Homing: loops that go to the homes of their blocks of points; homing-placed has the batches there, and the thread
// that reads a batch writes to those nodes.
#include <homing/distributed_array.hpp>
#include <homing/parallel_for.hpp>

#include "../common/tbb_threads.hpp"
#include "problem.hpp"

namespace streamcluster {
namespace {

struct batch_at_home {
  batch_at_home(std::size_t count, std::size_t dims)
      : at(homes_of(count, dims), homing::uninitialized),
        weight(homes_of(count, 1), homing::uninitialized),
        owner(homes_of(count, 1), homing::uninitialized),
        cost(homes_of(count, 1), homing::uninitialized),
        seen{at.data(), weight.data(), owner.data(), cost.data(), count, dims} {}
  homing::distributed_array<float> at;
  homing::distributed_array<float> weight;
  homing::distributed_array<std::uint32_t> owner;
  homing::distributed_array<float> cost;
  batch seen;
};

template <class Batch>
class solver : public solver_in<Batch> {
 public:
  explicit solver(const request& r) : solver_in<Batch>(r) { this->touch(*this); }
  void run() { this->p_.run(*this); }

  template <class F>
  void over(const homing::regular_distribution<1>& blocks, const F& f) {
    using range = tbb::blocked_range<std::size_t>;
    homing::parallel_for(
        range(0, blocks.size()), [&f](const range& r) { f(r.begin(), r.end()); }, blocks);
  }
};

}  // namespace
}  // namespace streamcluster

programs::variant_list programs::homing_variants() {
  using namespace streamcluster;
  return {{"homing", "work sent to its home", measure<solver<batch_in_pages>, tbb_threads>},
          {"homing-placed", "work sent, and data enforced", measure<solver<batch_at_home>, tbb_threads>}};
}
