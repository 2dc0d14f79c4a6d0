/// The two marks of a context that binders and cancellers race for: that it is cancelled, and that it has children.
///
/// A binder writes one and reads the other; so does a canceller, the other way round. Binding is frequent: its side
/// passes a light fence, and a cancellation the heavy one, as long as cancellations are rare. Where they follow each
/// other, both pass full fences. Templates, since a context's atomics are oneTBB's.
///
/// Threads:  any. Protocol: docs/protocols/contexts.md, labels [C1] to [C3], [C10].
#pragma once

#include <cstdint>

#include "sync/asymmetric_fence.hpp"
#include "sync/atomic.hpp"

namespace homing::scheduler::cancel_marks {

inline constexpr std::uint8_t has_children = 1;

template <typename Children>
[[nodiscard]] bool is_parent(const Children& children) noexcept {
  return children.load(sync::relaxed) == has_children;
}

/// Who pays for the race between binders and cancellers. [C10]
class fences {
 public:
  /// Binder: behind become_parent() and a light fence, before inherit(). [C1]
  void of_binder() const noexcept {
    // acquire: who finds it light again sees the marks of those who relied on full fences.
    if (__builtin_expect(duty_.load(sync::acquire) != duty::cancellers, false)) {
      sync::full_fence();
    }
  }

  /// Canceller: between its mark and its look for children. [C3] `now_ns`: the time.
  void of_canceller(std::int64_t now_ns) noexcept {
    const std::int64_t since = now_ns - last_ns_.exchange(now_ns, sync::relaxed);
    sync::full_fence();  // its mark, before the look whose duty it is; partner: a change
    // acquire: who finds it the binders' sees what was bound before.
    duty now = duty_.load(sync::acquire);
    if (now == duty::binders) {
      if (since < rare_ns) {
        return;  // the fence above; partner: a binder's full fence
      }
      if (change(now)) {
        sync::full_fence();  // all that was marked by those who found the duty the binders', to whoever finds it light
        duty_.store(duty::cancellers, sync::relaxed);  // behind that fence
        return;
      }
    } else if (since >= soon_ns) {
      quick_.store(0, sync::relaxed);
    } else if (quick_.fetch_add(1, sync::relaxed) >= quick_max && now == duty::cancellers && change(now)) {
      quick_.store(0, sync::relaxed);
      sync::heavy_fence();  // whoever bound before it saw the change is seen now; all others pass full fences
      duty_.store(duty::binders, sync::relaxed);  // behind that fence
      return;
    }
    sync::heavy_fence();
  }

  static constexpr std::int64_t soon_ns = 1'000'000;
  static constexpr std::int64_t rare_ns = 10'000'000;

 private:
  /// `changing`: binders pass full fences, and cancellers heavy ones.
  enum class duty : std::uint8_t { cancellers, changing, binders };

  /// A thread held up here must not end a change that others have begun since.
  bool change(duty& from) noexcept {
    return duty_.compare_exchange_strong(from, duty::changing, sync::relaxed, sync::relaxed);
  }

  static constexpr std::size_t quick_max = sync::size_or_modelled(8, 0);

  sync::atomic<duty> duty_{duty::cancellers};
  sync::atomic<std::size_t> quick_{0};  ///< in a row, each soon after the one before
  sync::atomic<std::int64_t> last_ns_{-rare_ns};
};

/// Binder: before a light fence, and that before fences::of_binder() and inherit(). [C1]
template <typename Children>
void become_parent(Children& children) noexcept {
  // relaxed, the look too: the fence orders what it finds, another binder's mark perhaps.
  if (!is_parent(children)) {
    children.store(has_children, sync::relaxed);
  }
}

/// Binder, under the lock of the list on which the child is by now. [C2]
template <typename Request>
void inherit(Request& child, const Request& parent) noexcept {
  // 1 or nothing: the child itself may have been cancelled before its first use.
  if (parent.load(sync::relaxed) != 0) {
    child.store(1, sync::relaxed);
  }
}

/// Canceller: marks the context, and calls `walk` if it may have children. False if it was cancelled already. [C3]
/// `clock` tells the time.
template <typename Request, typename Children, typename Clock, typename Walk>
bool cancel(Request& request, const Children& children, fences& pair, Clock&& clock, Walk&& walk) noexcept {
  // relaxed: the fence orders it, or the lists' locks do.
  if (request.load(sync::relaxed) != 0 || request.exchange(1, sync::relaxed) != 0) {
    return false;
  }
  bool parent = is_parent(children);
  if (!parent) {
    pair.of_canceller(clock());
    parent = is_parent(children);  // [C3] partner C1
  }
  if (parent) {
    walk();
  }
  return true;
}

}  // namespace homing::scheduler::cancel_marks
