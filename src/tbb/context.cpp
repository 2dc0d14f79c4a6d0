/// Exported: task_group_context.
#include "runtime/task/context.hpp"

namespace tbb::detail::r1 {

void initialize(d1::task_group_context& ctx) { task_group_context_impl::initialize(ctx); }
void destroy(d1::task_group_context& ctx) { task_group_context_impl::destroy(ctx); }
void reset(d1::task_group_context& ctx) { task_group_context_impl::reset(ctx); }
bool cancel_group_execution(d1::task_group_context& ctx) { return task_group_context_impl::cancel(ctx); }
bool is_group_execution_cancelled(d1::task_group_context& ctx) { return task_group_context_impl::is_cancelled(ctx); }
void capture_fp_settings(d1::task_group_context& ctx) { task_group_context_impl::capture_fp(ctx); }

}  // namespace tbb::detail::r1
