/// Thieves of a model's arena go everywhere: nobody steps aside.
#pragma once

#include "runtime/arena/arena.hpp"
#include "runtime/thread/dispatcher.hpp"
#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {

enum class rest_place : bool { slot, elsewhere };
[[nodiscard]] inline bool step_aside(thread_state& /*t*/, rest_place /*from*/) noexcept { return false; }
inline void step_back(thread_state& /*t*/) noexcept {}
inline void call_for_slots_left(const thread_state& /*t*/) noexcept {}
[[nodiscard]] inline slot_id slot_held_in(const thread_state& t, const arena& a) noexcept {
  return t.in == &a ? t.slot_number : no_slot;  // a model's thread is in one arena
}

}  // namespace homing::scheduler
