/// Reference vertices: who waits sees what all tasks did, and the wait may end at once; a vertex goes from wait to
/// wait. Method: every execution of a thread that adds and waits, and of one or two that run what it added;
/// docs/protocols/reference_vertex.md [V1] to [V3].
#include "engine/model.hpp"
#include "runtime/thread/reference_vertices.hpp"

namespace {

using namespace homing;
using namespace homing::model;
using scheduler::reference_vertices;
using scheduler::wait_vertex;

/// As oneTBB's wait_context_vertex, on the checker's atomics.
class wait final : public wait_vertex {
 public:
  void reserve(std::uint32_t delta) override { add(delta); }
  void release(std::uint32_t delta) override { add(-static_cast<std::int64_t>(delta)); }
  [[nodiscard]] bool is_over() const { return count_.load(sync::acquire) == 0; }

 private:
  void add(std::int64_t delta) {
    const std::uint64_t now = count_.fetch_add(static_cast<std::uint64_t>(delta), sync::seq_cst) + delta;
    require(now < 100, "a wait is never released more often than it was reserved");
  }
  sync::atomic<std::uint64_t> count_{0};
};

/// A task: where it counts, and what it does.
struct job {
  sync::atomic<wait_vertex*> in = nullptr;
  sync::plain<int> done = 0;

  void add(reference_vertices& mine, wait& to) {
    wait_vertex& where = mine.of(to);
    where.reserve(1);
    in.store(&where, sync::release);
  }
  bool try_run() {
    wait_vertex* const where = in.load(sync::acquire);
    if (where == nullptr) {
      return false;
    }
    done = 1;
    where->release(1);
    return true;
  }
};

/// The adder's own task has a reference of the wait, as every task that adds others has.
const scenario one_wait("reference vertex: who waits sees what tasks did", {.sample_preemptions = 2}, [] {
  reference_vertices mine;
  wait group;
  job jobs[2];
  bool ran[2] = {};
  group.reserve(1);
  threads({[&] {
             jobs[0].add(mine, group);
             jobs[1].add(mine, group);
             group.release(1);
             if (group.is_over()) {
               require(jobs[0].done == 1 && jobs[1].done == 1, "who waits sees what all tasks did");
             }
           },
           [&] { ran[0] = jobs[0].try_run(); }, [&] { ran[1] = jobs[1].try_run(); }});
  for (int i = 0; i < 2; ++i) {
    require(ran[i] || !group.is_over(), "the wait is not over before its tasks");
    require(ran[i] || jobs[i].try_run(), "each runs once");
  }
  require(group.is_over(), "the wait is over");
});

const scenario waits_by_turns("reference vertex: three waits by turns on two places", {.sample_preemptions = 2}, [] {
  reference_vertices mine;
  wait groups[3];
  job jobs[3];
  bool ran[3] = {};
  threads({[&] {
             for (int i = 0; i < 3; ++i) {
               jobs[i].add(mine, groups[i]);
             }
           },
           [&] {
             for (int i = 0; i < 3; ++i) {
               ran[i] = jobs[i].try_run();
               require(!ran[i] || groups[i].is_over(), "whose only task has run is over");
             }
           }});
  for (int i = 0; i < 3; ++i) {
    require(ran[i] || !groups[i].is_over(), "a wait is not over before its task");
    require(ran[i] || jobs[i].try_run(), "each runs once");
    require(groups[i].is_over(), "and no wait is left open");
  }
});

}  // namespace
