/// In the child of a fork: all who use an arena of before through their task_arena objects go on in one successor,
/// whole, and it ends with the last of these objects. Method: every execution of two users, on the production's way
/// from an object to its arena, over arenas in small; docs/protocols/arena.md [A21], [A29].
#define __TBB_BUILD 1
#include <oneapi/tbb/detail/_small_object_pool.h>
#include <oneapi/tbb/detail/_task_handle.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_group.h>  // whose atomics are not looked at, and must have their size

#include "tbb_atomics.hpp"

namespace tbb::detail::d0 {
/// For the header's initialize(), which is not called here.
template <typename Initializer>
void atomic_do_once(const Initializer& initialize, std::atomic<do_once_state>& /*state*/) {
  initialize();
}
}  // namespace tbb::detail::d0

// The one of an object's size: a model's atomic is larger.
#define static_assert(...) static_assert(true)
#include <oneapi/tbb/task_arena.h>
#undef static_assert
#include "tbb/live_arena.cpp"
#undef atomic

#include "engine/model.hpp"

/// As the production's.
void tbb::detail::r1::terminate(d1::task_arena_base& user) {
  if (homing::scheduler::arena* const a = task_arena_impl::exchange_arena(user, nullptr)) {
    homing::scheduler::drop_user_of(*a);
  }
}

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

/// Before the fork: one arena, that so many objects stand for.
struct forked {
  resource_manager before;
  resource_manager child;
  arena* old = nullptr;
  std::optional<tbb::task_arena> objects[2];

  explicit forked(int count) {
    resource_manager::now = &before;
    arena::alive = 0;
    old = &arena::make(before, {.max_concurrency = 7});
    for (int i = 0; i < count; ++i) {
      if (i != 0) {
        old->add_reference();
      }
      old->add_user();
      arena_access::set_arena(objects[i].emplace(7), old);
    }
    resource_manager::now = &child;
  }

  arena& use(int object) {
    arena* const a = live_arena_of(*objects[object]);
    require(a != nullptr && a != old, "it has an arena of the child's");
    require(a->max_concurrency() == 7, "it is whole, and what was asked for");
    return *a;
  }
  void end(int object) { tbb::detail::r1::terminate(*objects[object]); }
  /// The one of before is left behind, as all of its process is.
  static void require_all_ended() { require(arena::alive == 1, "the successor ends with the last object, and once"); }
};

const scenario one_object("live arenas: two threads use one object", {}, [] {
  forked it(1);
  const arena* used[2] = {};
  threads({[&] { used[0] = &it.use(0); },
           [&] {
             const arena* const known = known_arena_of(*it.objects[0]);
             require(known == nullptr || known->max_concurrency() == 7, "none, or the successor, whole");
             used[1] = &it.use(0);
             require(known == nullptr || known == used[1], "and no other one later");
           }});
  require(used[0] == used[1], "both are in the same arena");
  it.end(0);
  forked::require_all_ended();
});

const scenario two_objects("live arenas: two objects of one arena are used and end", {}, [] {
  forked it(2);
  threads({[&] {
             it.use(0);
             it.end(0);
           },
           [&] {
             it.use(1);
             it.end(1);
           }});
  forked::require_all_ended();
});

const scenario used_and_ended("live arenas: one of two objects ends unused", {}, [] {
  forked it(2);
  threads({[&] {
             it.use(0);
             it.end(0);
           },
           [&] { it.end(1); }});
  forked::require_all_ended();
});

const scenario both_used("live arenas: two objects of one arena are used", {}, [] {
  forked it(2);
  const arena* used[2] = {};
  threads({[&] { used[0] = &it.use(0); }, [&] { used[1] = &it.use(1); }});
  require(used[0] == used[1], "both go on in the same arena");
  it.end(0);
  it.end(1);
  forked::require_all_ended();
});

/// As max_concurrency() of an object that another thread initializes.
const scenario asked("live arenas: an object is asked while it gets its arena", {}, [] {
  resource_manager here;
  resource_manager::now = &here;
  arena::alive = 0;
  tbb::task_arena object(7);
  threads({[&] {
             require(arena_access::arena_of(object) == nullptr, "it has none");
             arena& a = arena::make(here, {.max_concurrency = 7});
             a.add_user();
             arena_access::set_arena(object, &a);
           },
           [&] {
             if (const arena* const a = arena_access::arena_of(object)) {
               require(a->max_concurrency() == 7, "an arena that is seen is whole");
             }
           }});
  tbb::detail::r1::terminate(object);
  require(arena::alive == 0, "it ends with the object");
});

}  // namespace
