/// Threads of this model are in no arena.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/task/indices.hpp"

namespace homing::scheduler {

struct thread_state {};
inline thread_state* const this_thread_or_null = nullptr;
[[nodiscard]] inline slot_id slot_held_in(const thread_state& /*t*/, const arena& /*a*/) noexcept { return no_slot; }

}  // namespace homing::scheduler
