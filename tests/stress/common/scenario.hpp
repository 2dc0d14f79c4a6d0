// What a scenario is: a named way to spend one seeded round, checking itself.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "burn.hpp"
#include "node.hpp"

namespace stress {

/// What is asked of the library: all, or only what stock oneTBB 2023.2.0 can do (README.md).
enum class rules { strict, stock };

/// One run of a scenario.
struct round {
  std::uint64_t seed = 0;
  int threads = 1;  // the parallelism that is allowed by the driver's global_control
  stress::rules rules = rules::strict;
};

struct scenario {
  const char* name;
  const char* property;  // what it shows, for --list
  void (*run)(const round&);
  bool is_stock_able = true;  // false: left out under rules::stock
};

/// All scenarios, in the order of --list.
const std::vector<scenario>& all_scenarios();

/// `features` without the combinations that the round's rules exclude.
unsigned allowed_features(const round& r, unsigned features);

/// What the constructs of one round share: the helper that resumes, and some shared arenas.
class round_environment {
 public:
  round_environment(const round& r, unsigned features);
  environment& get() { return env_; }

 private:
  resumer helper_;
  environment env_;  // after helper_: nothing may be suspended when the helper ends
};

/// A random program of moderate size, run by the calling thread in a random place: its implicit
/// arena, an arena of all threads, or one shared with others.
void run_tree(environment& env, std::uint64_t seed, unsigned features);

/// Runs `count` application threads, body(0) ... body(count-1), and joins them.
template <typename Body>
void run_threads(int count, Body&& body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

/// Waits without TBB until done() holds; the watchdog ends what never does.
template <typename Done>
void wait_until(Done&& done) {
  while (!done()) std::this_thread::yield();
}

/// The number of threads of this process.
int thread_count();

// The scenarios that are more than a tree, by file.
void trees_of_threads(const round& r);              // external_threads.cpp
void addressed_trees(const round& r);               // addresses.cpp
void swarms_of_tasks(const round& r);               // many_tasks.cpp
void short_lived_external_threads(const round& r);  // external_threads.cpp
void crowded_arena(const round& r);                 // external_threads.cpp
void enqueue_and_leave(const round& r);             // enqueues.cpp
void priority_arenas(const round& r);               // enqueues.cpp
void changing_controls(const round& r);             // controls.cpp
void changing_observers(const round& r);            // controls.cpp
void changing_leases(const round& r);               // leases.cpp
void placed_pipelines(const round& r);              // placed_pipelines.cpp
void many_suspended(const round& r);                // suspended.cpp
void suspended_external_threads(const round& r);    // suspended.cpp
void mixed_waiters(const round& r);                 // waits.cpp
void finalize_between(const round& r);              // process.cpp
void fork_children(const round& r);                 // process.cpp

}  // namespace stress
