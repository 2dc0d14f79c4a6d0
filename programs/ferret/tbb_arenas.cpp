// A task_arena for each NUMA node, with a pipeline of its own for its share of the queries.
#include <algorithm>

#include "../common/node_arenas.hpp"
#include "pipeline.hpp"

namespace ferret {
namespace {

class solver : public solver_with_index {
 public:
  explicit solver(const request& r)
      : solver_with_index(r),
        arenas_(r.threads),
        tokens_(std::max<std::size_t>(1, 4 * static_cast<std::size_t>(r.threads) / arenas_.count())) {}
  void run() {
    arenas_.deal(p_.queries(), [this](std::size_t first, std::size_t last) {
      run_pipeline(p_, {first, last}, whole_index(p_), tokens_);
    });
  }

 private:
  programs::node_arenas arenas_;
  std::size_t tokens_;  ///< of each
};

}  // namespace
}  // namespace ferret

programs::variant_list programs::tbb_arenas_variants() {
  return {{"tbb-arenas", "a pipeline in the arena of each NUMA node", measure<ferret::solver, tbb_limit>}};
}
