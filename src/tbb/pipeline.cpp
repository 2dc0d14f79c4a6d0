/// Exported: parallel_pipeline.
#include "runtime/pipeline/pipeline.hpp"

namespace tbb::detail::r1 {

void parallel_pipeline(d1::task_group_context& context, std::size_t tokens, const d1::filter_node& chain) {
  pipeline(context, tokens, chain).run();
}

void set_end_of_input(d1::base_filter& filter) { pipeline::end_of_input(filter); }

}  // namespace tbb::detail::r1
