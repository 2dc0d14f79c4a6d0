#include "runtime/thread/traced_scope.hpp"

#include <utility>

#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {
namespace {

std::uint16_t number_of(domain_index d) noexcept { return static_cast<std::uint16_t>(to_index(d)); }

}  // namespace

void traced_scope::begin(const thread_state& t, observe::taken_from how, std::int64_t now_ns) noexcept {
  trace_ = t.trace;
  if (trace_ != nullptr) place_ = trace_->begin({now_ns, number_of(t.domain), number_of(home_), how});
}

void traced_scope::end(std::int64_t now_ns) noexcept {
  if (trace_ != nullptr) trace_->end(place_, now_ns);
}

/// Viewers take the one that comes first for the one around the other.
void traced_scope::begin_from_outermost(const thread_state& t, std::int64_t now_ns) noexcept {
  if (around_ != nullptr) around_->begin_from_outermost(t, now_ns);
  begin(t, observe::taken_from::resumed, now_ns);
}

traced_scope::traced_scope(const dispatcher& d, domain_index home) noexcept
    : d_(d), around_(d.thread->traced), home_(home) {
  thread_state& t = *d.thread;
  begin(t, t.trace->how_taken(t.counters), observe::trace_clock_ns());
  t.traced = this;
}

traced_scope::~traced_scope() {
  end(observe::trace_clock_ns());
  d_.thread->traced = around_;
}

traced_scope* traced_scope::leave(thread_state& t) noexcept {
  traced_scope* const innermost = std::exchange(t.traced, nullptr);
  if (innermost == nullptr) return nullptr;
  const std::int64_t now_ns = observe::trace_clock_ns();
  for (traced_scope* s = innermost; s != nullptr; s = s->around_) s->end(now_ns);
  return innermost;
}

void traced_scope::go_on(thread_state& t, traced_scope* innermost) noexcept {
  t.traced = innermost;
  if (innermost == nullptr) return;
  if (t.trace != nullptr) static_cast<void>(t.trace->how_taken(t.counters));  // how the stack was taken is no task's
  innermost->begin_from_outermost(t, observe::trace_clock_ns());
}

}  // namespace homing::scheduler
