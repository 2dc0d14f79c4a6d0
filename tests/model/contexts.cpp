/// Contexts: a child that is bound while its parent is cancelled is cancelled, too, and a context is bound once.
/// Method: every execution of a canceller and binders, on the production marks and lock; docs/protocols/contexts.md.
#include "engine/model.hpp"
#include "runtime/task/cancel_marks.hpp"
#include "sync/owner_lock.hpp"

namespace {

using namespace homing;
using namespace homing::model;
namespace marks = scheduler::cancel_marks;
using sync::relaxed;

constexpr std::int64_t soon_ns = marks::fences::soon_ns / 2;
constexpr std::int64_t rare_ns = marks::fences::rare_ns;

struct context {
  sync::atomic<std::uint32_t> request{0};
  sync::atomic<std::uint8_t> children{0};
};

/// A thread's list, with room for one, and the context that the thread has made.
struct maker {
  sync::basic_owner_lock<2> lock;
  sync::plain<int> listed = 0;
  sync::plain<int> times_bound = 0;
  context child;

  void bind(context& parent) {
    if (times_bound == 0) {
      ++times_bound;
      ++listed;
      marks::inherit(child.request, parent.request);
    }
  }
  void bind_as_owner(context& parent, const marks::fences& pair) {
    marks::become_parent(parent.children);
    lock.lock_as_owner();  // a light fence [C1]
    pair.of_binder();
    bind(parent);
    lock.unlock_as_owner();
  }
  void bind_as_other(context& parent, const marks::fences& pair) {
    lock.lock_as_other();
    marks::become_parent(parent.children);
    sync::light_fence();  // [C1]
    pair.of_binder();
    bind(parent);
    lock.unlock_as_other();
  }
  /// [C4] The same child, at its end.
  void end() {
    lock.lock_as_owner();
    --listed;
    lock.unlock_as_owner();
  }
};

void cancel(context& parent, marks::fences& pair, std::int64_t now_ns, maker& first, maker* second = nullptr) {
  static_cast<void>(marks::cancel(
      parent.request, parent.children, pair, [=] { return now_ns; },
      [&] {
        const bool first_was_its_owners = first.lock.begin_lock_as_other();
        const bool second_was = second != nullptr && second->lock.begin_lock_as_other();
        if (first_was_its_owners || second_was) {
          sync::heavy_fence();
        }
        for (maker* m : {&first, second}) {
          if (m != nullptr) {
            m->lock.end_lock_as_other();
          }
        }
        for (maker* m : {&first, second}) {
          if (m != nullptr && m->listed != 0) {
            m->child.request.store(1, relaxed);
          }
        }
        for (maker* m : {&first, second}) {
          if (m != nullptr) {
            m->lock.unlock_as_other();
          }
        }
      }));
}

void require_cancelled(const maker& m) {
  require(m.child.request.load(relaxed) != 0, "a child that was bound is cancelled");
}

const scenario one("contexts: a binder and a canceller", {}, [] {
  marks::fences pair;
  context parent;
  maker m;
  threads({[&] { m.bind_as_owner(parent, pair); }, [&] { cancel(parent, pair, 0, m); }});
  require_cancelled(m);
});

const scenario by_another("contexts: another thread binds, and a canceller", {}, [] {
  marks::fences pair;
  context parent;
  maker m;
  threads({[&] { m.bind_as_other(parent, pair); }, [&] { cancel(parent, pair, 0, m); }});
  require_cancelled(m);
});

/// The second to come finds the first one's mark on the parent.
const scenario two("contexts: two binders and a canceller", {.preemptions = 3, .sample_preemptions = 1}, [] {
  marks::fences pair;
  context parent;
  maker first;
  maker second;
  threads({[&] { first.bind_as_owner(parent, pair); }, [&] { second.bind_as_owner(parent, pair); },
           [&] { cancel(parent, pair, 0, first, &second); }});
  require_cancelled(first);
  require_cancelled(second);
});

const scenario ends("contexts: a child that ends, and a canceller", {}, [] {
  marks::fences pair;
  context parent;
  maker m;
  threads({[&] {
             m.bind_as_owner(parent, pair);
             m.end();
           },
           [&] { cancel(parent, pair, 0, m); }});
  require(m.listed == 0, "the list is empty");
});

/// [C9] Its maker and another thread use one context first, under one parent.
const scenario once("contexts: two bind the same, and a canceller", {.preemptions = 3, .sample_preemptions = 1}, [] {
  marks::fences pair;
  context parent;
  maker m;
  threads({[&] { m.bind_as_owner(parent, pair); }, [&] { m.bind_as_other(parent, pair); },
           [&] { cancel(parent, pair, 0, m); }});
  require(m.times_bound == 1, "bound once");
  require_cancelled(m);
});

// ---- [C10] whose duty the fence is

/// A cancellation of something without children: the duty changes by it, or does not.
void cancel_another(marks::fences& pair, std::int64_t now_ns) {
  context other;
  static_cast<void>(marks::cancel(
      other.request, other.children, pair, [=] { return now_ns; }, [] {}));
}

const scenario full("contexts: binders pay", {}, [] {
  marks::fences pair;
  context parent;
  maker m;
  cancel_another(pair, 0);
  cancel_another(pair, soon_ns);
  threads({[&] { m.bind_as_owner(parent, pair); }, [&] { cancel(parent, pair, 2 * soon_ns, m); }});
  require_cancelled(m);
});

const scenario to_binders("contexts: binders begin to pay", {.preemptions = 4, .sample_preemptions = 2}, [] {
  marks::fences pair;
  context parent;
  maker m;
  cancel_another(pair, 0);
  threads({[&] { m.bind_as_owner(parent, pair); }, [&] { cancel_another(pair, soon_ns); },
           [&] { cancel(parent, pair, 2 * soon_ns, m); }});
  require_cancelled(m);
});

const scenario to_cancellers("contexts: cancellers begin to pay", {.preemptions = 4, .sample_preemptions = 2}, [] {
  marks::fences pair;
  context parent;
  maker m;
  cancel_another(pair, 0);
  cancel_another(pair, soon_ns);
  threads({[&] { m.bind_as_owner(parent, pair); }, [&] { cancel_another(pair, soon_ns + rare_ns); },
           [&] { cancel(parent, pair, soon_ns + rare_ns, m); }});
  require_cancelled(m);
});

}  // namespace
