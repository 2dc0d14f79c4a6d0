/// Keeps an arena for a thread that visits it by execute(), from before anything that may end it until nothing there is
/// touched any more: by a mark, or, inside another visit, by a reference.
///
/// Threads:   the visitor.
/// Protocols: docs/protocols/arena.md [A4].
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

class visit_hold {
 public:
  visit_hold(thread_state& t, arena& a) noexcept : arena_(a), mark_(t.visit.begin(a) ? &t.visit : nullptr) {
    if (__builtin_expect(mark_ == nullptr, false)) {
      a.add_reference();
    } else {
      a.visitors.note(&t);
    }
  }
  ~visit_hold() {
    if (__builtin_expect(mark_ == nullptr, false)) {
      arena_.drop_reference();
    } else if (arena* const given = mark_->end(); __builtin_expect(given != nullptr, false)) {
      given->leave_reference();  // it may end with this
    }
  }
  visit_hold(const visit_hold&) = delete;
  visit_hold& operator=(const visit_hold&) = delete;

 private:
  arena& arena_;
  visit_mark* mark_;  ///< null: a reference
};

}  // namespace homing::scheduler
