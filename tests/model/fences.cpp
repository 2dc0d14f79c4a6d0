/// The asymmetric pair: of a light and a heavy side that cross, one sees the other's store, whatever the kernel grants
/// or refuses meanwhile. Method: every execution of the production pair; docs/protocols/sleep.md [S11], [S17].
///
/// Here a light side is no operation, as on the machine, and membarrier makes each thread pass a full fence between two
/// of its operations, as the kernel's interrupt does.
#include "sync/asymmetric_fence.cpp"

#include "engine/model.hpp"

namespace homing::platform {
void warn(const char* /*format*/, ...) noexcept {}
}  // namespace homing::platform

namespace {

/// The sandbox. seq_cst: the kernel knows at once.
homing::sync::atomic<bool> is_refused{false};

}  // namespace

extern "C" long __wrap_syscall(long number, long command, ...) {
  using namespace homing;
  if (model::running == nullptr || number != SYS_membarrier) {
    errno = ENOSYS;
    return -1;
  }
  const bool is_global = command == MEMBARRIER_CMD_GLOBAL;
  if (!is_global && is_refused.load(sync::seq_cst)) {
    errno = EPERM;
    return -1;
  }
  model::running->interrupt_all(std::source_location::current());
  return 0;
}

namespace {

using namespace homing;
using namespace homing::model;
using sync::fence_kind;
using sync::relaxed;
using sync::seq_cst;

/// Two threads that cross: each stores, passes its side, and looks at the other's.
struct crossing {
  sync::atomic<int> begun = 0;
  sync::atomic<int> light = 0;
  sync::atomic<int> heavy = 0;
  int light_saw = 0;
  int heavy_saw = 0;

  explicit crossing(fence_kind begins_as) { sync::detail::fences.store(begins_as, relaxed); }
  /// A point of choice: the kernel may interrupt before a store, too.
  void begin() const { static_cast<void>(begun.load(relaxed)); }
  void light_side() {
    begin();
    light.store(1, relaxed);
    sync::light_fence();
    light_saw = heavy.load(relaxed);
  }
  /// As a private fork: it asks first, and passes no fence if the pair is asymmetric.
  void asking_side() {
    begin();
    const bool is_light = sync::fences_are_asymmetric();
    light.store(1, relaxed);
    if (!is_light) {
      sync::full_fence();
    }
    light_saw = heavy.load(relaxed);
  }
  template <typename Fence>
  void heavy_side(Fence&& fence) {
    begin();
    heavy.store(1, relaxed);
    fence();
    heavy_saw = light.load(relaxed);
  }
  void heavy_side() { heavy_side(sync::heavy_fence); }
  void require_seen() const { require(light_saw == 1 || heavy_saw == 1, "one sees the other"); }
};

void refuse() { is_refused.store(true, seq_cst); }

const scenario granted("fences: membarrier is granted", {}, [] {
  crossing c(fence_kind::asymmetric);
  threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }});
  c.require_seen();
});

const scenario never("fences: membarrier was never granted", {}, [] {
  crossing c(fence_kind::full);
  threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }});
  c.require_seen();
});

// ---- [S11]

const scenario refused_late("fences: membarrier is refused late", {}, [] {
  crossing c(fence_kind::asymmetric);
  threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }, refuse});
  c.require_seen();
});

const scenario refused_to_two("fences: membarrier is refused to two heavy sides",
                              {.preemptions = 4, .sample_preemptions = 2}, [] {
                                crossing c(fence_kind::asymmetric);
                                refuse();
                                threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }, sync::heavy_fence});
                                c.require_seen();
                              });

/// As it was: what membarrier answers was not looked at.
void heavy_fence_as_it_was() {
  if (sync::detail::fences.load(sync::acquire) == fence_kind::asymmetric) {
    static_cast<void>(sync::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
  }
  sync::full_fence();
}
const scenario into_nothing("fences, as they were: membarrier is refused late", {.fault = "one sees the other"}, [] {
  crossing c(fence_kind::asymmetric);
  threads({[&] { c.light_side(); }, [&] { c.heavy_side(heavy_fence_as_it_was); }, refuse});
  c.require_seen();
});

// ---- [S17]

const scenario granted_late("fences: membarrier is granted late", {.preemptions = 4, .sample_preemptions = 2}, [] {
  crossing c(fence_kind::full);
  threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }, sync::become_asymmetric});
  c.require_seen();
});

const scenario asked("fences: membarrier is granted late, and a light side asks",
                     {.preemptions = 4, .sample_preemptions = 2}, [] {
                       crossing c(fence_kind::full);
                       threads({[&] { c.asking_side(); }, [&] { c.heavy_side(); }, sync::become_asymmetric});
                       c.require_seen();
                     });

const scenario both(
    "fences: membarrier is granted late and refused later", {.preemptions = 3, .sample_preemptions = 1}, [] {
      crossing c(fence_kind::full);
      threads({[&] { c.light_side(); }, [&] { c.heavy_side(); }, [] { sync::become_asymmetric(); }, refuse});
      c.require_seen();
    });

}  // namespace
