/// The production's manager and workers for models: the arena in small, threads that are beds of the model's, and what
/// the manager asks of others. To be included by one file a program.
#pragma once

#include <pthread.h>

#include "arena_in_small.hpp"
#include "engine/model.hpp"
#include "runtime/workers/allotment.cpp"
#include "runtime/workers/demand.cpp"
#include "runtime/workers/ending.cpp"
#include "runtime/workers/lease_book.cpp"
#include "runtime/workers/leasing.cpp"
#include "runtime/workers/making.cpp"
#include "runtime/workers/resource_manager.cpp"
#include "runtime/workers/standing_in.cpp"
#include "runtime/workers/worker.cpp"
#include "runtime/workers/worker_shortage.cpp"

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

constexpr std::size_t beds_max = 4;

/// Where a worker's thread begins and ends: the model's threads wait here until somebody makes one of them.
struct bed {
  sync::parker go;
  sync::parker ended;
  void* (*entry)(void*) = nullptr;
  void* argument = nullptr;

  void lie() {
    go.park();
    entry(argument);
    ended.unpark();
  }
};

struct house {
  bed beds[beds_max];
  sync::atomic<std::size_t> beds_taken{0};
  thread_state records[beds_max];
  sync::atomic<std::size_t> records_taken{0};
  sync::atomic<int> done{0};  ///< tasks that were run
  sync::atomic<std::size_t> parallelism{2};
  std::chrono::nanoseconds awake{0};
  // A task of this arena ends when one of another arena has been run.
  const arena* held = nullptr;
  arena* ended_by_task = nullptr;  ///< a task of this arena ends the task_arena
  sync::parker has_begun;
  sync::parker may_end;
  // The first worker that is about to leave an arena does so when somebody lets it.
  sync::atomic<bool> holds_leaver{false};
  sync::parker is_leaving;
  sync::parker may_leave;
  sync::atomic<int> refusals{0};  ///< so many threads are not made
};

house* here = nullptr;

}  // namespace

// ---- what the manager asks of others

namespace homing::platform {
void warn(const char* /*format*/, ...) noexcept {}
affinity_result get_affinity(pid_t /*thread*/) { return {}; }
}  // namespace homing::platform

namespace homing::scheduler {

std::size_t max_allowed_parallelism() noexcept { return here->parallelism.load(sync::relaxed); }
std::size_t thread_stack_size() noexcept { return 0; }
void set_default_parallelism(unsigned /*threads*/) noexcept {}
domain_index present_domain(const scheduler_settings& /*settings*/) noexcept { return domain_index{0}; }
domain_index domain_of_this_thread(const scheduler_settings& /*settings*/) noexcept { return domain_index{0}; }
void resource_manager::look_at_machine(std::int64_t /*not_within_ns*/) noexcept {}
void resource_manager::bind_worker(worker& /*w*/) noexcept {}
void work_until_empty(thread_state& /*t*/, arena& /*a*/) {}
thread_state& this_thread() { return here->records[0]; }

thread_state& make_this_thread(thread_kind /*kind*/, domain_index domain, std::size_t /*stack_bytes*/) {
  thread_state& t = here->records[here->records_taken.fetch_add(1, sync::relaxed)];
  t.domain = domain;
  return t;
}

namespace {

bool take_one(arena& a) { return a.spawned.take() || a.unaddressed.take(); }

void run_one(arena& a) {
  if (&a == here->held) {
    here->has_begun.unpark();
    here->may_end.park();
  } else if (here->held != nullptr) {
    here->may_end.unpark();
  }
  here->done.fetch_add(1, sync::relaxed);
  if (&a == here->ended_by_task) {
    a.drop_reference();
  }
}

/// As a dispatch loop: it begins counted as searching, runs no task while it is, and ends not counted.
void run(thread_state& t, arena& a) {
  for (bool searches = true;;) {
    if (a.worker_should_leave(t)) {
      if (searches) {
        a.search().stop_searching(t, {});
      }
      return;
    }
    if (take_one(a)) {
      if (std::exchange(searches, false)) {
        a.search().stop_searching(t, {});
      }
      run_one(a);
    } else if (searches) {
      a.search().stop_searching(t, {});
      return;
    } else {
      a.search().enter(t, {});
      searches = true;
    }
  }
}

}  // namespace

/// As in production, with the loop above.
std::chrono::nanoseconds work_in_arena(thread_state& t, arena& a) noexcept {
  if (const slot_id number = a.admit_worker(t); number != no_slot) {
    stay_in(t, a, number);
    a.search().adopt(t);
    run(t, a);
    if (here->holds_leaver.load(sync::relaxed) && here->holds_leaver.exchange(false, sync::relaxed)) {
      here->is_leaving.unpark();
      here->may_leave.park();
    }
    a.worker_leaves(t.domain, number);
    a.release_slot(number);
  }
  a.drop_reference();
  return here->awake;
}

}  // namespace homing::scheduler

extern "C" {
int pthread_create(pthread_t* thread, const pthread_attr_t* /*how*/, void* (*entry)(void*), void* argument) noexcept {
  if (here->refusals.load(sync::relaxed) > 0) {
    here->refusals.fetch_sub(1, sync::relaxed);
    return EAGAIN;
  }
  std::size_t number = here->beds_taken.load(sync::relaxed);
  do {
    if (number == beds_max) {
      return EAGAIN;
    }
  } while (!here->beds_taken.compare_exchange_weak(number, number + 1, sync::relaxed, sync::relaxed));
  *thread = number;
  bed& b = here->beds[number];
  b.entry = entry;
  b.argument = argument;
  b.go.unpark();
  return 0;
}
int pthread_join(pthread_t thread, void** /*result*/) {
  here->beds[thread].ended.park();
  return 0;
}
int pthread_setname_np(pthread_t /*thread*/, const char* /*name*/) noexcept { return 0; }
}

namespace {

/// The machine, the manager and the threads of one execution.
struct world {
  house at_home;
  resource_manager* manager = nullptr;
  int arenas = 0;

  explicit world(std::size_t threads_allowed, unsigned domain_count = 1, unsigned own_cpus = 0) {
    here = &at_home;
    this_thread_or_null = nullptr;
    at_home.parallelism.store(threads_allowed, sync::relaxed);
    domains_of_machine = domain_count;
    own_cpus_of_machine = own_cpus;
    work_places::ended = 0;
    manager = new resource_manager;
  }
  arena& make(int concurrency, unsigned priority_level = 1, std::optional<domain_index> only_domain = {}) {
    ++arenas;
    arena_request request;
    request.max_concurrency = concurrency;
    request.priority_level = priority_level;
    request.only_domain = only_domain;
    return arena::make(*manager, request);
  }
  void require_done(int tasks) {
    require(at_home.done.load(sync::relaxed) == tasks, "all that was pushed was run, once");
  }
  void require_ended() const { require(work_places::ended == arenas, "each arena has ended, once"); }
};

}  // namespace
