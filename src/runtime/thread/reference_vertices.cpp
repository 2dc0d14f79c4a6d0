#include "runtime/thread/reference_vertices.hpp"

#include <new>

#include "runtime/thread/thread_state.hpp"

namespace homing::scheduler {
namespace {

/// So far above the caller's frame is its own stack, or another that is hardly used. What lies there is a group of the
/// caller's, or of who called it: in a recursion each level has one, and nobody else adds to it as often.
constexpr std::uintptr_t own_frames_bytes = std::uintptr_t{64} << 10U;

[[gnu::noinline]] wait_vertex& shared_vertex(wait_vertex& wait) noexcept {
  thread_state* const t = this_thread_or_null;
  if (t == nullptr) {
    return wait;
  }
  if (t->vertices == nullptr) {
    try {
      t->vertices = new (t->pool->allocate_for_good(sizeof(reference_vertices))) reference_vertices;
    } catch (const std::bad_alloc&) {
      return wait;
    }
  }
  return t->vertices->of(wait);
}

}  // namespace

wait_vertex& vertex_of_this_thread(wait_vertex& wait) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool is_own = reinterpret_cast<std::uintptr_t>(&wait) - here < own_frames_bytes;
  return __builtin_expect(is_own, true) ? wait : shared_vertex(wait);
}

}  // namespace homing::scheduler
