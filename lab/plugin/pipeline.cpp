#include "pipeline.hpp"

#include <cmath>

namespace homing::lab::model {
namespace {

ticks cycles(double c) { return static_cast<ticks>(std::llround(c * static_cast<double>(ticks_per_cycle))); }

}  // namespace

pipeline::pipeline(const core_shape& shape, double cpi)
    : window_(shape.window, 0),
      stores_(shape.store_buffer, 0),
      per_instruction_(cycles(cpi)),
      load_(cycles(shape.load)),
      locked_(cycles(shape.locked)),
      pause_(cycles(shape.pause)),
      fence_(cycles(shape.fence)),
      system_call_(cycles(shape.system_call)) {
  const auto set = [&](latency_class of, double c) { latency_[static_cast<unsigned>(of)] = cycles(c); };
  set(latency_class::move, 0);
  set(latency_class::integer, 1);
  set(latency_class::multiply, shape.multiply);
  set(latency_class::divide, shape.divide);
  set(latency_class::float_add, shape.float_add);
  set(latency_class::float_multiply, shape.float_multiply);
  set(latency_class::fused, shape.fused);
  set(latency_class::float_divide, shape.float_divide);
}

ticks pipeline::special(const micro_op& op, ticks now) const noexcept {
  switch (op.kind) {
    case op_kind::pause:
      return now + pause_;
    case op_kind::fence:
      return std::max({now, left_, written_}) + fence_;
    case op_kind::load_fence:
      return std::max(now, left_);
    case op_kind::system_call:
      return std::max(now, left_) + system_call_;
    default:
      return now;
  }
}

}  // namespace homing::lab::model
