/// A task in the trace: a slice on the thread that runs it, and another for each time that its stack is gone back to.
///
/// A stack that is left takes all its tasks along: the thread runs those of another stack next, whose slices would lie
/// across theirs. So they end there, and begin anew where the stack goes on, perhaps on another thread.
///
/// Ownership: each lies on the stack of its task, linked to that of the task around it; thread_state::traced has the
///            innermost one of the stack that the thread runs.
/// Threads:   whoever runs the stack.
#pragma once

#include "observe/trace.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "topology/ids.hpp"

namespace homing::scheduler {

class traced_scope {
 public:
  /// The task begins. `d` runs its stack; its thread has a trace.
  traced_scope(const dispatcher& d, domain_index home) noexcept;
  ~traced_scope();
  traced_scope(const traced_scope&) = delete;
  traced_scope& operator=(const traced_scope&) = delete;

  /// The thread leaves its stack. Returns the innermost task of that stack, for go_on(); null if there is none.
  static traced_scope* leave(thread_state& t) noexcept;
  /// The thread runs that stack now.
  static void go_on(thread_state& t, traced_scope* innermost) noexcept;

 private:
  void begin(const thread_state& t, observe::taken_from how, std::int64_t now_ns) noexcept;
  void end(std::int64_t now_ns) noexcept;
  void begin_from_outermost(const thread_state& t, std::int64_t now_ns) noexcept;

  const dispatcher& d_;
  traced_scope* const around_;
  const domain_index home_;
  observe::trace_buffer* trace_ = nullptr;  ///< null: the thread that runs the task now has none
  observe::traced_place place_{};
};

}  // namespace homing::scheduler
