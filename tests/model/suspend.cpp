/// Suspended stacks: each goes on once for each suspension, whoever is asleep, and its arena lives until then. Method:
/// executions of threads that leave, resume and take stacks, on the production code, which switches real stacks here;
/// docs/protocols/suspend.md [U1] to [U5], [U9], [U10].
#include "runtime/dispatch/suspend.cpp"
#include "arena_in_small.hpp"
#include "runtime/search/waiters.hpp"
#include "runtime/stack/coroutine.cpp"
#include "runtime/stack/stack_switching.cpp"
#include "runtime/stack/suspend_point.cpp"
#include "runtime/thread/wait_table.cpp"

namespace homing::scheduler {

thread_state& this_thread() { std::abort(); }
void notify_waiters(std::uintptr_t address) noexcept { waiting_threads.notify(address); }
std::size_t thread_stack_size() noexcept { return std::size_t{64} << 10U; }

/// What the next coroutine to begin runs first.
static void (*first_on_coroutine)(thread_state&) = nullptr;

/// As in production, with a search that takes stacks only.
task* dispatch_on_coroutine(dispatcher& d) {
  if (auto* const run = std::exchange(first_on_coroutine, nullptr)) {
    run(*d.thread);
  }
  d.thread->in->search().enter(*d.thread, {});
  task* found = nullptr;
  while (coroutine_waiter::keep_going(*d.thread)) {
    if (left_stack* const stack = d.thread->in->resumed.take()) {
      found = &stack->continuation();
      break;
    }
    static_cast<void>(coroutine_waiter::rest(*d.thread, {}));
  }
  d.thread->in->search().stop_searching(*d.thread, {});
  return found;
}

}  // namespace homing::scheduler

namespace {

using namespace homing;
using namespace homing::model;
using namespace homing::scheduler;

constexpr isolation_tag other_tag = work_places::tag_of_isolated + 1;

struct hall {
  no_workers nobody;
  arena& a;

  hall() : a(make_arena(nobody)) {
    // Static objects keep the lists of an execution that was cut short.
    new (&waiting_threads) wait_table;
    cache.forget();
    cached = 0;
    first_on_coroutine = nullptr;
  }
};

/// A thread on its own stack.
struct on_base {
  visit stay;
  dispatcher base;

  explicit on_base(arena& a) : stay(a) {
    stay.me.slot->base = &base;
    stay.me.running = &base;
    base.thread = &stay.me;
  }
};

settings bounds(unsigned preemptions, unsigned stale) {
  return {.preemptions = preemptions, .sample_preemptions = 1, .stale = stale, .sample_stale = 1, .steps = 5'000};
}

// ---- [U1], [U2], [U3], [U10]: a base stack is suspended, and resumed by another thread, or from the callback

struct suspended {
  sync::atomic<suspend_point*> point{nullptr};
  sync::plain<int> word = 0;
};

/// Suspends the base stack, until resume_once_suspended() has been there.
void suspend_until_resumed(on_base& thread, suspended& s) {
  suspend(
      thread.stay.me,
      [](void* to, tbb::detail::r1::suspend_point_type* point) {
        static_cast<suspended*>(to)->point.store(reinterpret_cast<suspend_point*>(point), sync::release);
      },
      &s);
  require(s.word == 1, "what was done before the resume");
}

void resume_once_suspended(suspended& s) {
  suspend_point* point = nullptr;
  while ((point = s.point.load(sync::acquire)) == nullptr) {
    sync::cpu_relax();
  }
  s.word = 1;
  point->end_suspension();
}

const scenario base_stack("suspend: a base stack, and a thread that resumes it", bounds(2, 1), [] {
  hall h;
  on_base thread(h.a);
  suspended s;
  threads({[&] {
             suspend_until_resumed(thread, s);
             require(thread.stay.me.running == &thread.base, "the stack is its own again");
             thread.stay.leave();
             h.a.drop_reference();
           },
           [&] { resume_once_suspended(s); }});
  require(work_places::ended == 1, "the arena has ended");
});

/// [U1], [U3] A task on the coroutine suspends, too: its thread goes back to its base at once if that is recalled.
const scenario both_stacks(
    "suspend: a base stack, and its coroutine before it is recalled, or behind", bounds(2, 1), [] {
      hall h;
      on_base thread(h.a);
      suspended s;
      static suspend_point* second = nullptr;
      second = nullptr;
      first_on_coroutine = [](thread_state& t) {
        suspend(
            t, [](void*, tbb::detail::r1::suspend_point_type* p) { second = reinterpret_cast<suspend_point*>(p); },
            nullptr);
      };
      threads({[&] {
                 suspend_until_resumed(thread, s);
                 second->end_suspension();
                 left_stack* const left = h.a.resumed.take();
                 require(left != nullptr, "the coroutine's stack may go on");
                 static_cast<void>(run_resume_task(thread.stay.me, left->continuation(), nullptr, {}));
                 require(thread.stay.me.running == &thread.base, "it is through");
                 thread.stay.leave();
                 h.a.drop_reference();
               },
               [&] { resume_once_suspended(s); }});
      require(work_places::ended == 1, "the arena has ended");
    });

const scenario from_callback("suspend: a resume from the callback", bounds(2, 1), [] {
  hall h;
  on_base thread(h.a);
  threads({[&] {
    suspend(
        thread.stay.me,
        [](void*, tbb::detail::r1::suspend_point_type* point) {
          reinterpret_cast<suspend_point*>(point)->end_suspension();
        },
        nullptr);
    thread.stay.leave();
    h.a.drop_reference();
  }});
  require(work_places::ended == 1, "the arena has ended");
});

/// [U10] One balance: the outer suspension may be ended while the inner one's stack is left, and the reverse.
const scenario within_callback("suspend: a suspension inside the callback of another, of one stack", bounds(2, 1), [] {
  hall h;
  on_base thread(h.a);
  suspended outer;
  suspended inner;
  struct both {
    on_base& thread;
    suspended& outer;
    suspended& inner;
  } all{thread, outer, inner};
  threads({[&] {
             suspend(
                 thread.stay.me,
                 [](void* argument, tbb::detail::r1::suspend_point_type* point) {
                   const both& b = *static_cast<both*>(argument);
                   b.outer.point.store(reinterpret_cast<suspend_point*>(point), sync::release);
                   suspend(
                       b.thread.stay.me,
                       [](void* to, tbb::detail::r1::suspend_point_type* own) {
                         static_cast<suspended*>(to)->point.store(reinterpret_cast<suspend_point*>(own), sync::release);
                       },
                       &b.inner);
                 },
                 &all);
             require(outer.word == 1 && inner.word == 1, "what was done before both resumes");
             require(thread.stay.me.running == &thread.base, "the stack is its own again");
             thread.stay.leave();
             h.a.drop_reference();
           },
           [&] {
             resume_once_suspended(outer);
             resume_once_suspended(inner);
           }});
  require(work_places::ended == 1, "the arena has ended");
});

/// [U10] What was ended in a callback that throws ends no later suspension.
const scenario callback_throws("suspend: a callback that throws, with its suspension ended, and another one",
                               bounds(2, 1), [] {
                                 hall h;
                                 on_base thread(h.a);
                                 suspended s;
                                 threads({[&] {
                                            try {
                                              suspend(
                                                  thread.stay.me,
                                                  [](void*, tbb::detail::r1::suspend_point_type* point) {
                                                    reinterpret_cast<suspend_point*>(point)->end_suspension();
                                                    throw 1;
                                                  },
                                                  nullptr);
                                              require(false, "it throws");
                                            } catch (int) {
                                            }
                                            suspend_until_resumed(thread, s);
                                            thread.stay.leave();
                                            h.a.drop_reference();
                                          },
                                          [&] { resume_once_suspended(s); }});
                                 require(work_places::ended == 1, "the arena has ended");
                               });

// ---- [U4], [U5], [U9]: a coroutine's stack that was left in a nested wait; its thread and another may go on with it

/// The stack is not run here: whoever takes its resume task does what it would do next.
struct left_in_wait {
  hall h;
  coroutine owner;
  suspend_point& point = point_of(owner.disp, &owner);
  wait_context wait{1};
  const search_scope scope{.isolation = work_places::tag_of_isolated};
  sync::plain<int> times_left = 0;
  sync::plain<int> taken = 0;
  sync::atomic<bool> over{false};

  /// [U9], and [U2] from the next stack.
  void leave(thread_state& t) {
    ++times_left;
    h.a.add_reference();
    point.in = &h.a;
    owner.disp.thread = &t;
    leave_waiting(point, &wait, scope);
  }
  /// The stack, on thread `t`. It has nothing more to do when its wait is over; it runs tasks of its isolation.
  void go_on(thread_state& t) {
    --times_left;
    require(times_left == 0, "each stack goes on once");
    const leave_result how = wait_no_longer(point, h.a, &wait);
    if (h.a.isolated.take()) {
      ++taken;
    } else if (how == leave_result::called) {
      h.a.call_for_work_left(domain_index{0});  // [S13]
    }
    if (arena_access::is_waited_for(wait)) {
      leave(t);
    } else {
      wait.end();
      over.store(true, sync::release);
    }
  }
  /// A thread isolated in another region, which may go on with stacks and do nothing else.
  void serve(visit& v) {
    while (!over.load(sync::acquire)) {
      if (h.a.resumed.take() != nullptr) {
        go_on(v.me);
      } else {
        static_cast<void>(sleep_in_arena(v.me, {.isolation = other_tag}, [&] { return over.load(sync::acquire); }));
      }
    }
  }
};

const scenario wait_ends("suspend: a stack left in a wait, which ends", bounds(3, 1), [] {
  left_in_wait l;
  on_base thread(l.h.a);
  threads_until_settled({[&] {
                           l.leave(thread.stay.me);
                           l.serve(thread.stay);
                         },
                         [&] { l.wait.release(); }});
  require(l.over.load(sync::relaxed), "the stack went on");
});

/// Whoever left the stack looks at its wait context, which ends when the stack has gone on.
const scenario another_goes_on("suspend: a stack left in a wait, with which another thread goes on", bounds(2, 1), [] {
  left_in_wait l;
  on_base thread(l.h.a);
  visit other(l.h.a);
  threads_until_settled({[&] { l.leave(thread.stay.me); }, [&] { l.serve(other); }, [&] { l.wait.release(); }});
  require(l.over.load(sync::relaxed), "the stack went on");
});

const scenario task_comes("suspend: a stack left in a wait, and a task for it", bounds(2, 1), [] {
  left_in_wait l;
  on_base thread(l.h.a);
  visit pusher(l.h.a);
  threads_until_settled({[&] {
                           l.leave(thread.stay.me);
                           l.serve(thread.stay);
                         },
                         [&] {
                           l.h.a.isolated.push();
                           l.h.a.new_work(work_places::tag_of_isolated, domain_index{0}, *pusher.me.slot);
                         }});
  require(l.taken == 1, "the task was run");
});

const scenario both_come("suspend: a stack left in a wait, which ends, and a task for it", bounds(1, 1), [] {
  left_in_wait l;
  on_base thread(l.h.a);
  visit pusher(l.h.a);
  threads_until_settled({[&] {
                           l.leave(thread.stay.me);
                           l.serve(thread.stay);
                         },
                         [&] {
                           l.h.a.isolated.push();
                           l.h.a.new_work(work_places::tag_of_isolated, domain_index{0}, *pusher.me.slot);
                         },
                         [&] { l.wait.release(); }});
  require(l.over.load(sync::relaxed), "the stack went on");
});

// ---- [U8], [S3]: a stack that searches is left for its base; another stack may go on, and only a sleeper can take it

/// What both threads and the coroutine know.
struct left_for_base {
  hall h;
  on_base thread{h.a};
  visit other{h.a};
  suspended base;
  wait_context wait{1};
  coroutine owner;
  suspend_point& point = point_of(owner.disp, &owner);  ///< as in left_in_wait, not run
  sync::atomic<bool> taken{false};

  static inline left_for_base* current = nullptr;

  left_for_base() {
    current = this;
    h.a.add_reference();
    point.in = &h.a;
    first_on_coroutine = [](thread_state& t) { current->search_until_recalled(t); };
  }
  /// The coroutine, in a nested wait: it has looked for the last time, and others rely on it.
  void search_until_recalled(thread_state& t) {
    h.a.search().enter(t, {});
    while (!base_is_recalled(t)) {
      sync::cpu_relax();
    }
    context_waiter waiter(wait);
    static_cast<void>(waiter.rest(t, {}));
    h.a.search().stop_searching(*thread.base.thread, {});
    require(!arena_access::is_waited_for(wait), "the stack goes on when its wait is over");
  }
  /// The base, in user code: it looks for nothing until the other stack goes on.
  void run_base() {
    suspend_until_resumed(thread, base);
    while (!taken.load(sync::acquire)) {
      sync::cpu_relax();
    }
    wait.release();
    left_stack* const left = h.a.resumed.take();
    require(left != nullptr, "the coroutine's stack may go on");
    static_cast<void>(run_resume_task(thread.stay.me, left->continuation(), nullptr, {}));
  }
  /// Sleeps until it is called, and takes the other stack.
  void take_other() {
    h.a.search().enter(other.me, {});
    while (h.a.resumed.take() == nullptr) {
      static_cast<void>(sleep_in_arena(other.me, {}, [] { return false; }));
    }
    taken.store(true, sync::release);
    h.a.search().stop_searching(other.me, {});
  }
};

const scenario left_while_searched("suspend: a searching stack that is left for its base, and another that may go on",
                                   bounds(2, 1), [] {
                                     left_for_base l;
                                     threads_until_settled({[&] { l.run_base(); }, [&] { l.take_other(); },
                                                            [&] {
                                                              resume_once_suspended(l.base);
                                                              l.point.resume();
                                                            }});
                                     require(l.taken.load(sync::relaxed), "somebody is called for it");
                                   });

}  // namespace
