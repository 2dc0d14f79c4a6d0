// Homing: a stage of the pipeline for each domain, which queries that domain's part of the index there, as TBB-NUMA's
// figure 12 does; homing-placed has the parts moved there.
#include <homing/parallel_pipeline.hpp>

#include "../common/tbb_threads.hpp"
#include "pipeline.hpp"

namespace ferret {
namespace {

enum class data { as_made, at_home };

template <data Where>
class solver : public solver_with_index {
 public:
  explicit solver(const request& r) : solver_with_index(r), tokens_(4 * static_cast<std::size_t>(r.threads)) {
    if constexpr (Where == data::at_home) {
      for (std::uint32_t p = 0; p < p_.parts().size(); ++p) {
        p_.parts()[p].for_each_array([&](auto& of) {
          programs::place(homing::block(of.size(), homing::domain_set{homing::domain_index{p}}), of, moved_);
        });
      }
    }
  }
  void run() {
    index_filter stages = stage(0);
    for (std::uint32_t p = 1; p < p_.parts().size(); ++p) stages = stages & stage(p);
    run_pipeline(p_, {0, p_.queries()}, stages, tokens_);
  }
  [[nodiscard]] programs::migration moved() const { return moved_; }

 private:
  [[nodiscard]] index_filter stage(std::uint32_t p) {
    const auto query = [this, p](item* i) {
      p_.query_part(*i, p);
      return i;
    };
    return tbb::make_filter<item*, item*>(tbb::filter_mode::parallel, homing::on(p % homing::domain_count(), query));
  }

  std::size_t tokens_;
  programs::migration moved_;
};

}  // namespace
}  // namespace ferret

programs::variant_list programs::homing_variants() {
  using namespace ferret;
  return {{"homing", "a stage for each domain's part of the index", measure<solver<data::as_made>, tbb_threads>},
          {"homing-placed", "the same, and the parts enforced", measure<solver<data::at_home>, tbb_threads>}};
}
