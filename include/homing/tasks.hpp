/// Tasks that go to their data: task_group, enqueue and run_on with an address, `on(domain)`.
///
///   homing::task_group group;
///   for (unsigned d = 0; d < homing::domain_count(); ++d) {
///     group.run(homing::on(d), [&, d] { sweep(part[d]); });     // any thread of domain d, if it can be had
///   }
///   group.wait();
///
/// An address is a hint, given once and never rewritten: any thread of that domain may take the task, and when none of
/// them comes, others do, nearest first. A program addresses domain_count() generic domains and never learns hardware
/// ids. On another libtbb.so.12 than ours (runtime().is_homing says so) the same program runs, and addresses mean
/// nothing.
///
/// Needs oneTBB's headers, 2021.8 or later, and linking to TBB and to libhoming.
/// Source: TBB-NUMA 4.4 (addresses of processors, sticky), 4.4.3 (reflection, detached children), figure 13.
#pragma once

#include <homing/detail/counted_task.hpp>
#include <homing/detail/fault.hpp>
#include <homing/detail/tasks_door.hpp>
#include <homing/ids.hpp>
#include <homing/topology.hpp>

#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace homing {

/// Which libtbb.so.12 the process has. Errors: std::bad_alloc in the first call of any of these.
struct runtime_facts {
  bool is_homing;       ///< false: addresses mean nothing
  const char* version;  ///< what TBB_runtime_version() says
};
[[nodiscard]] inline runtime_facts runtime() { return {detail::door() != nullptr, TBB_runtime_version()}; }

/// How many domains tasks can be addressed to: those of the machine that the scheduler runs on; 1 on a foreign one.
[[nodiscard]] inline std::uint32_t domain_count() {
  const detail::tasks_door* const door = detail::door();
  return door == nullptr ? 1 : door->domain_count;
}

/// The domain that the calling thread works in: that of its worker; of an application thread, where it was when it
/// entered the arena it is in, or else where it runs. Always 0 on a foreign libtbb.so.12, and in a first call without
/// memory. A few nanoseconds.
[[nodiscard]] inline domain_index current_domain() noexcept try {
  const detail::tasks_door* const door = detail::door();
  return domain_index{door == nullptr ? 0 : door->current_domain()};
} catch (const std::bad_alloc&) {
  return domain_index{0};
}

/// An address: a domain, or nowhere in particular.
class place {
 public:
  constexpr place() noexcept = default;
  constexpr explicit place(domain_index domain) noexcept : domain_(domain) {}
  [[nodiscard]] constexpr const std::optional<domain_index>& domain() const noexcept { return domain_; }

 private:
  std::optional<domain_index> domain_;
};

[[nodiscard]] constexpr place on(domain_index domain) noexcept { return place(domain); }
/// `domain` < domain_count() wherever it is used, or it is a programmer's error; on a foreign libtbb.so.12 any will do.
[[nodiscard]] constexpr place on(std::uint32_t domain) noexcept { return place(domain_index{domain}); }

/// The address of a distribution's answer: a home, or none.
[[nodiscard]] constexpr place on(std::optional<domain_index> home) noexcept { return home ? place(*home) : place(); }

namespace detail {

/// The number of an addressed domain that the scheduler has; none if the task may go anywhere.
[[nodiscard]] inline std::optional<std::uint32_t> address_of(place where, const char* function) noexcept {
  const tasks_door* const open = door();
  if (open == nullptr || !where.domain()) return std::nullopt;
  const std::uint32_t domain = to_index(*where.domain());
  expects(domain < open->domain_count, function, "there is no such domain; see homing::domain_count()");
  return domain;
}

/// A callable as a task.
template <class F>
class function_task final : public counted_task<function_task<F>> {
 public:
  template <class Callable>
  function_task(const task_dues& dues, Callable&& f)
      : counted_task<function_task>(dues), f_(std::forward<Callable>(f)) {}
  void run(d1::execution_data&) { f_(); }

 private:
  F f_;
};

/// Has the scheduler run `f` by `send(task)`; counted in `wait` until it is gone, if that is not null.
template <class F, class Send>
void send_function(d1::wait_context* wait, F&& f, Send&& send) {
  hand_over(make_counted<function_task<std::decay_t<F>>>(wait, std::forward<F>(f)), std::forward<Send>(send));
}

/// Into the queue of a domain; null: of the calling thread's arena. `f` must not throw: its context is the arena's own,
/// and with that cancelled nothing else that is enqueued there would run.
template <class F>
void enqueue_function(F&& f, d1::task_arena_base* arena, std::uint32_t domain) {
  auto without_exception = [f = std::decay_t<F>(std::forward<F>(f))]() mutable noexcept { f(); };
  send_function(nullptr, std::move(without_exception), [&](d1::task& t) { door()->enqueue(&t, arena, domain); });
}

/// A callable as a task on the stack of whoever waits for it.
template <class F>
class waited_task final : public d1::task {
 public:
  waited_task(F& f, d1::wait_context& wait) : f_(f), wait_(wait) {}
  d1::task* execute(d1::execution_data&) override {
    f_();
    wait_.release();
    return nullptr;
  }
  // Also after an exception in f.
  d1::task* cancel(d1::execution_data&) override {
    wait_.release();
    return nullptr;
  }

 private:
  F& f_;
  d1::wait_context& wait_;
};

/// Runs `f` at once as one task of that group, unless it is cancelled.
template <class F>
void run_in(tbb::task_group_context& context, F&& f) {
  d1::wait_context wait(1);
  waited_task<std::remove_reference_t<F>> task(f, wait);
  d1::execute_and_wait(task, context, wait, context);
}

/// Has `run(body)` run `f`: its value.
template <class Value, class F, class Run>
Value value_through(F&& f, Run&& run) {
  if constexpr (std::is_void_v<Value>) {
    run([&] { std::forward<F>(f)(); });
  } else if constexpr (std::is_reference_v<Value>) {
    std::remove_reference_t<Value>* result = nullptr;
    run([&] {
      auto&& named = std::forward<F>(f)();
      result = std::addressof(named);
    });
    return static_cast<Value>(*result);
  } else {
    std::optional<std::remove_cv_t<Value>> result;
    run([&] { result.emplace(std::forward<F>(f)()); });
    return *std::move(result);
  }
}

/// Has `run(body, context)` run `f` in a group of its own: its value, or its exception.
template <class Value, class F, class Run>
Value value_of(F&& f, Run&& run) {
  tbb::task_group_context context(tbb::task_group_context::isolated);
  return value_through<Value>(std::forward<F>(f), [&](auto&& body) { run(body, context); });
}

/// For oneTBB's enqueue(), which calls a const copy, once.
template <class F>
class enqueued_function {
 public:
  template <class Callable>
    requires std::same_as<std::decay_t<Callable>, F>
  explicit enqueued_function(Callable&& f) : f_(std::forward<Callable>(f)) {}
  void operator()() const { f_(); }

 private:
  mutable F f_;
};

}  // namespace detail

/// For those who write tasks on oneTBB's task class: as d1::spawn(), with an address. Any thread of that domain finds
/// the task in its mailbox; it also lies in the caller's deque, newest first, so what should leave is best spawned
/// first.
/// Ownership: as d1::spawn(): the task ends itself. Threads: any. Errors: std::bad_alloc.
inline void spawn(place where, detail::d1::task& t, tbb::task_group_context& context) {
  if (const auto domain = detail::address_of(where, "spawn")) {
    detail::d1::spawn(t, context, static_cast<detail::d1::slot_id>(detail::door()->first_address + *domain));
  } else {
    detail::d1::spawn(t, context);
  }
}

/// As spawn(), but the task lies in the domain's queue only, not in the caller's deque: the caller, which would
/// otherwise take it back first, leaves it. At home already, it is spawned (TBB-NUMA 4.4.3, detaching).
inline void detach(place where, detail::d1::task& t, tbb::task_group_context& context) {
  const auto domain = detail::address_of(where, "detach");
  if (domain && domain_index{*domain} != current_domain()) {
    detail::door()->detach(&t, &context, *domain);
  } else {
    spawn(where, t, context);
  }
}

/// Runs `f` some time, on a thread of that domain if one comes, even where no workers are allowed. Nobody waits for it,
/// so an exception that leaves it ends the program, as with task_arena::enqueue(). Errors: std::bad_alloc.
template <class F>
void enqueue(tbb::task_arena& arena, place where, F&& f) {
  if (const auto domain = detail::address_of(where, "enqueue")) {
    arena.initialize();
    detail::enqueue_function(std::forward<F>(f), static_cast<detail::d1::task_arena_base*>(&arena), *domain);
  } else {
    arena.enqueue(detail::enqueued_function<std::decay_t<F>>(std::forward<F>(f)));
  }
}
/// In the arena that the calling thread is in.
template <class F>
void enqueue(place where, F&& f) {
  if (const auto domain = detail::address_of(where, "enqueue")) {
    detail::enqueue_function(std::forward<F>(f), nullptr, *domain);
  } else {
    tbb::this_task_arena::enqueue(detail::enqueued_function<std::decay_t<F>>(std::forward<F>(f)));
  }
}

/// tbb::task_group with addresses.
///
/// Ownership: of the tasks until they have run. Ends with no task left: the destructor cancels and waits for what
///            wait() was not called for.
/// Threads:   as tbb::task_group: run() and cancel() from any thread while somebody keeps the group alive.
/// Errors:    wait() rethrows the first exception of a task, after the others have ended or were cancelled.
class task_group {
 public:
  task_group() = default;
  /// The tasks share a context of the caller's, which outlives the group.
  explicit task_group(tbb::task_group_context& context) : context_(&context) {}
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group() {
    if (!waited_.load(std::memory_order_relaxed)) {
      cancel();
      try {
        static_cast<void>(wait());
      } catch (...) {  // nobody is left to be told: as an exception that was thrown before wait()
      }
    }
  }

  /// Errors: std::bad_alloc, and what F's copy throws; nothing runs then.
  template <class F>
  void run(place where, F&& f) {
    waited_.store(false, std::memory_order_relaxed);
    detail::send_function(&wait_, std::forward<F>(f), [&](detail::d1::task& t) { spawn(where, t, *context_); });
  }
  template <class F>
  void run(F&& f) {
    run(place(), std::forward<F>(f));
  }
  template <class F>
  tbb::task_group_status run_and_wait(F&& f) {
    run(std::forward<F>(f));
    return wait();
  }

  tbb::task_group_status wait() {
    struct end {  // not before: tasks that are waited for may run more
      task_group& group;
      ~end() {
        group.context_->reset();
        group.waited_.store(true, std::memory_order_relaxed);
      }
    } const at_the_end{*this};
    detail::d1::wait(wait_, *context_);
    return context_->is_group_execution_cancelled() ? tbb::task_group_status::canceled
                                                    : tbb::task_group_status::complete;
  }
  void cancel() { context_->cancel_group_execution(); }
  [[nodiscard]] tbb::task_group_context& context() noexcept { return *context_; }

 private:
  tbb::task_group_context own_context_;
  tbb::task_group_context* context_ = &own_context_;
  detail::d1::wait_context wait_{0};
  /// Nothing has been run since the last wait(). relaxed: whoever ends the group has joined those who run().
  std::atomic<bool> waited_{true};
};

/// Runs `f` on a thread of that domain, if one comes, and waits: its value, or its exception, is the caller's. A caller
/// who is there already runs it at once; one who waits works on other tasks meanwhile. A cancellation around it does
/// not reach in: there would be no value. So in a task it runs in a group of its own, also at home.
template <class F>
auto run_on(domain_index domain, F&& f) -> std::invoke_result_t<F> {
  using value = std::invoke_result_t<F>;
  if (!detail::address_of(on(domain), "run_on") || current_domain() == domain) {
    // Outside of tasks nothing can be cancelled.
    if (tbb::task::current_context() == nullptr) return std::forward<F>(f)();
    return detail::value_of<value>(
        std::forward<F>(f), [](auto&& body, tbb::task_group_context& context) { detail::run_in(context, body); });
  }
  return detail::value_of<value>(std::forward<F>(f), [domain](auto&& body, tbb::task_group_context& context) {
    detail::d1::wait_context wait(0);
    detail::send_function(&wait, body, [&](detail::d1::task& t) { detach(on(domain), t, context); });
    detail::d1::wait(wait, context);
  });
}
template <class F>
auto run_on(std::uint32_t domain, F&& f) -> std::invoke_result_t<F> {
  return run_on(domain_index{domain}, std::forward<F>(f));
}

}  // namespace homing
