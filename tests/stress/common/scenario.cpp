// The list of scenarios, and what they share.
#include "scenario.hpp"

#include <dirent.h>
#include <tbb/info.h>
#include <homing/steal_policy.hpp>

namespace stress {
namespace {

template <unsigned Features>
void one_tree(const round& r) {
  const unsigned features = allowed_features(r, Features);
  round_environment env(r, features);
  run_tree(env.get(), r.seed, features);
}

constexpr unsigned plain = feature_loop | feature_fold | feature_group;

}  // namespace

const std::vector<scenario>& all_scenarios() {
  static const std::vector<scenario> list = {
      {"loops", "nested loops run every item once", one_tree<feature_loop>},
      {"folds", "reduce, scan and sort give the serial result", one_tree<plain>},
      {"pipelines", "stages see every item once, in order where asked", one_tree<plain | feature_pipeline>},
      {"groups", "no task of a group is lost", one_tree<feature_group>},
      {"forks", "no branch of a fork is lost, whoever runs it, and its value comes back",
       one_tree<feature_fork | feature_group | feature_isolate | feature_arena | feature_throw | feature_cancel>},
      {"forks_suspended", "forks whose branches suspend", one_tree<feature_fork | feature_suspend | feature_arena>},
      {"graphs", "no message of a flow graph is lost", one_tree<plain | feature_graph | feature_critical>},
      {"arenas", "arenas that come and go, nested and shared", one_tree<plain | feature_arena | feature_enqueue>},
      {"isolation", "no task of outside runs inside isolate()", one_tree<plain | feature_isolate | feature_arena>},
      {"cancel", "a cancelled construct ends quiet, the others complete",
       one_tree<plain | feature_cancel | feature_arena>},
      {"exceptions", "an exception arrives once, when nothing runs any more",
       one_tree<plain | feature_throw | feature_cancel | feature_pipeline | feature_graph | feature_critical |
                feature_arena>},
      {"suspend", "every suspended task goes on once",
       one_tree<plain | feature_suspend | feature_isolate | feature_arena>},
      {"nest", "everything inside everything", one_tree<feature_all>},
      {"addresses", "tasks and loops with homes, pinned sections, enqueues", addressed_trees},
      {"many", "thousands of small tasks from one thread, which thieves take several at a time", swarms_of_tasks},
      {"storm", "everything inside everything, by many application threads", trees_of_threads},
      {"external_threads", "application threads that come and go", short_lived_external_threads},
      {"crowd", "more application threads than slots in one arena", crowded_arena},
      {"enqueue", "enqueued tasks run although arena and thread are gone", enqueue_and_leave},
      {"priorities", "arenas of all priorities at once", priority_arenas},
      {"controls", "the allowed parallelism changes while loops run", changing_controls},
      {"observers", "observers come and go while threads enter and leave", changing_observers},
      {"leases", "leases come and go while loops run and tasks are enqueued", changing_leases},
      {"homes", "pipelines whose stages and items have homes", placed_pipelines},
      {"suspended", "many tasks suspended at once", many_suspended},
      {"owners", "a blocking call returns on its own thread after suspensions", suspended_external_threads},
      {"waits", "threads that wait for one group from depth, on top of tasks, in isolation", mixed_waiters, false},
      {"finalize", "all workers end on finalize, and come back", finalize_between},
      {"fork", "a child of a process with workers can run loops", fork_children, false},
  };
  return list;
}

unsigned allowed_features(const round& r, unsigned features) {
  const bool suspends = (features & feature_suspend) != 0;
  const bool is_limited = r.rules == rules::stock && suspends;
  return is_limited ? features & ~(feature_critical | feature_control) : features;
}

round_environment::round_environment(const round& r, unsigned features) {
  env_.threads = r.threads;
  env_.helper = &helper_;
  env_.threads_keep_stacks = (features & feature_suspend) == 0;
  env_.numa_nodes = tbb::info::numa_nodes();
  rng random(derive(r.seed, 77));
  const int count = random.between(1, 3);
  for (int i = 0; i < count; ++i) {
    const int concurrency = random.between(2, r.threads < 2 ? 2 : r.threads);
    env_.shared_arenas.push_back(
        std::make_unique<tbb::task_arena>(concurrency, static_cast<unsigned>(random.below(2))));
    if (random.one_in(3)) homing::initialize(*env_.shared_arenas.back(), homing::steal_policy::domain);
  }
}

void run_tree(environment& env, std::uint64_t seed, unsigned features) {
  rng random(seed);
  node root;
  root.env = &env;
  root.features = features;
  root.depth = random.between(2, 4);
  root.width = root.depth == 4 ? 8 : 16;
  root.seed = random.next();
  const auto run = [&root] {
    // A root construct that turned out to be a leaf would be a wasted round: take a few.
    for (std::size_t i = 0; i < 3; ++i) run_node(root.child(i));
  };
  switch (random.below(3)) {
    case 0:
      return run();
    case 1: {
      tbb::task_arena everybody(env.threads);
      return everybody.execute(run);
    }
    default: {
      tbb::task_arena half((env.threads + 1) / 2 + 1, 0);
      return half.execute(run);
    }
  }
}

int thread_count() {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  require(tasks != nullptr, "/proc is needed");
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return count;
}

}  // namespace stress
