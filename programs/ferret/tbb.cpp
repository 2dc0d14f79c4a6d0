// TBB's pipeline: one stage queries the entire index.
#include "../common/tbb_threads.hpp"
#include "pipeline.hpp"

namespace ferret {
namespace {

class solver : public solver_with_index {
 public:
  explicit solver(const request& r) : solver_with_index(r), tokens_(4 * static_cast<std::size_t>(r.threads)) {}
  void run() { run_pipeline(p_, {0, p_.queries()}, whole_index(p_), tokens_); }

 private:
  std::size_t tokens_;
};

}  // namespace
}  // namespace ferret

programs::variant_list programs::tbb_variants() {
  return {{"tbb", "parallel_pipeline", measure<ferret::solver, tbb_threads>}};
}
