/// A thread's own counts of what it adds to waits of others.
///
/// Where many threads add tasks to one task_group, or one flow graph, all of them would write its count twice a task.
/// A thread adds them to a vertex of its own instead, which counts as one task of the wait as long as it has any.
///
/// Ownership: a thread record's, and never freed: tasks refer to vertices when their maker has ended long ago. The
///            waits that vertices refer to are the users'.
/// Threads:   of() by the thread that has the record; reserve() by who has called of() for it; release() by any.
/// Protocol:  docs/protocols/reference_vertex.md, labels [V1] to [V4].
/// Source:    oneTBB's r1::get_thread_reference_vertex(), as its header detail/_task.h and task_group.h use it.
#pragma once

#include <oneapi/tbb/detail/_task.h>

#include <array>
#include <cstdint>

#include "platform/check.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler {

using wait_vertex = tbb::detail::d1::wait_tree_vertex_interface;

class alignas(sync::cache_line_bytes) reference_vertex final : public wait_vertex {
 public:
  reference_vertex() = default;
  reference_vertex(const reference_vertex&) = delete;
  reference_vertex& operator=(const reference_vertex&) = delete;

  void reserve(std::uint32_t delta) override {
    // [V1] relaxed: nobody can release these before this has returned, and they have been handed on with a task.
    if (count_.fetch_add(delta, sync::relaxed) == 0) {
      counts_for_->reserve(1);
    }
  }
  void release(std::uint32_t delta) override {
    wait_vertex* const counts_for = counts_for_;  // behind the last release it may be another
    // [V2] acq_rel: what all tasks have done, to who waits, and to the thread that gives the vertex to another wait.
    const std::uint64_t before = count_.fetch_sub(delta, sync::acq_rel);
    platform::require_hot([&] { return before >= delta; }, "V1: what is released was reserved");
    if (before == delta) {
      counts_for->release(1);
    }
  }

  [[nodiscard]] bool is_for(const wait_vertex& wait) const noexcept { return counts_for_ == &wait; }
  /// By the vertex's thread. [V3] False if it counts for another wait still.
  [[nodiscard]] bool try_give_to(wait_vertex& wait) noexcept {
    if (count_.load(sync::acquire) != 0) {  // [V2] who has released it is through with it
      return false;
    }
    counts_for_ = &wait;
    return true;
  }

 private:
  sync::plain<wait_vertex*> counts_for_ = nullptr;
  sync::atomic<std::uint64_t> count_{0};
};

class reference_vertices {
 public:
  /// The thread's vertex for that wait; the wait itself, if the places for it are taken.
  [[nodiscard]] wait_vertex& of(wait_vertex& wait) noexcept {
    const std::size_t first = place_of(wait);
    for (std::size_t i = 0; i != places_of_one; ++i) {
      reference_vertex& v = all_[(first + i) % all_.size()];
      if (v.is_for(wait) || v.try_give_to(wait)) {
        return v;
      }
    }
    return wait;
  }

 private:
  static constexpr std::size_t bits = sync::size_or_modelled(4, 1);
  static constexpr std::size_t places = std::size_t{1} << bits;
  static constexpr std::size_t places_of_one = 2;

  [[nodiscard]] static std::size_t place_of(const wait_vertex& wait) noexcept {
    return reinterpret_cast<std::uintptr_t>(&wait) / sync::cache_line_bytes * 0x9E3779B97F4A7C15U >> (64 - bits);
  }

  std::array<reference_vertex, places> all_;
};

/// Where the calling thread is to count what it adds to that wait: its vertex; or the wait itself, if that is in one of
/// its own frames, or there is no memory for vertices. The same wait may be asked for again, or another at its address.
[[nodiscard]] wait_vertex& vertex_of_this_thread(wait_vertex& wait) noexcept;

}  // namespace homing::scheduler
