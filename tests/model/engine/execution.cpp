/// Threads and points of choice: who runs, who waits, and how an execution ends.
#include "engine/execution.hpp"

#include <algorithm>

#include "engine/arena.hpp"

namespace homing::model {

execution* running = nullptr;

namespace {
constexpr std::size_t stack_bytes = std::size_t{128} << 10U;
}

execution::execution(choices& decide, seen_states& seen, const limits& bounds)
    : decide_(decide), seen_(seen), bounds_(bounds), memory_(decide) {
  for (thread& t : threads_) {
    t.stack = platform::stack_memory(stack_bytes);
  }
}

execution::ending execution::run(void (*body)()) {
  static std::uint32_t numbers = 1U << 30U;  // what memory held before is hardly one of them
  number_ = ++numbers;
  memory_.begin(bounds_.stale);
  settled_ = false;
  now_ns_ = 0;
  trace_.clear();
  arena::begin();
  words_.clear();
  mutexes_.clear();
  outcome_.clear();
  count_ = 0;
  current_ = 0;
  steps_ = preemptions_ = spurious_ = 0;
  for (thread& t : threads_) {
    t.is = state::none;
  }
  const std::function<void()> first = body;
  start(&first);
  running = this;
  home_.switch_to(threads_[0].context);
  running = nullptr;
  return ended_;
}

execution::thread& execution::start(const std::function<void()>* body) {
  if (count_ == threads_max) {
    fail("a model has at most 6 threads, with the one that starts the others");
  }
  thread& t = threads_[count_++];
  t.body = body;
  t.is = state::fresh;
  t.has_begun = false;
  t.saw_change = false;
  t.fails_for_none = false;
  t.knows = knowledge{};
  t.looked.clear();
  t.looked_before.clear();
  t.at = std::source_location{};
  // A context may hold what an execution that was cut short left in it.
  t.context.~stack_context();
  new (&t.context) platform::stack_context;
  t.context.prepare(t.stack, main_of, this);
  return t;
}

void execution::main_of(void* raw) {
  auto& e = *static_cast<execution*>(raw);
  e.self().is = state::ready;
  (*e.self().body)();
  e.finish();
}

void execution::finish() noexcept {
  self().is = state::finished;
  hand_over();
  std::abort();  // nobody goes back to a thread that has finished
}

void execution::end(ending how) {
  running = nullptr;
  ended_ = how;
  thread& left = self();
  left.context.switch_to(home_);
  std::abort();
}

void execution::fail(std::string what) {
  running = nullptr;  // from here on memory is the engine's
  failure_ = std::string(what.c_str());
  end(ending::failed);
}

void execution::spawn(std::function<void()> body) {
  tick();
  thread& t = start(new std::function<void()>(std::move(body)));
  t.knows = self().knows;
  t.knows.history = mix(self().knows.history, count_);
  self().knows.history = mix(self().knows.history, 30);
}

void execution::join_all() {
  self().is = state::joining;
  hand_over();
  know_all();
}

void execution::settle() {
  self().is = state::settling;
  settled_ = true;
  hand_over();
  know_all();
}

void execution::know_all() noexcept {
  tick();
  for (std::size_t i = 1; i < count_; ++i) {
    memory_.join(self().knows.now, threads_[i].knows.now);
    self().knows.at.join(threads_[i].knows.at);
  }
}

bool execution::is_over() const noexcept {
  return std::all_of(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](const thread& t) { return t.is == state::finished || (settled_ && t.is == state::on_futex); });
}

void execution::tick() {
  ++self().knows.at.at[current_];
  self().has_begun = true;
  if (++steps_ > bounds_.steps) {
    fail("more than " + std::to_string(bounds_.steps) + " steps: a livelock, or a model that is too large");
  }
  if (memory_.is_exhausted()) {
    fail("the model touches more atomics, or stores to one more often, than engine/types.hpp has room for");
  }
  memory_.set_step(trace_.next());
}

bool execution::can_run(const thread& t) const noexcept {
  switch (t.is) {
    case state::ready:
    case state::yielding:
    case state::on_timed_futex:
      return true;
    case state::paused:
      return std::any_of(t.looked.begin(), t.looked.end(),
                         [&](const seen_value& s) { return memory_.has_news(t.knows.now, s.where, s.value); });
    case state::on_mutex:
      return std::none_of(mutexes_.begin(), mutexes_.end(),
                          [&](const held_mutex& m) { return m.address == t.waits_for && m.is_held; });
    case state::joining:
      return std::all_of(threads_.begin() + 1, threads_.begin() + static_cast<std::ptrdiff_t>(count_),
                         [](const thread& other) { return other.is == state::finished; });
    case state::settling:
      return std::all_of(
          threads_.begin() + 1, threads_.begin() + static_cast<std::ptrdiff_t>(count_),
          [](const thread& other) { return other.is == state::finished || other.is == state::on_futex; });
    default:
      return false;
  }
}

/// A point before an operation of the running thread: another one may go first.
void execution::point() { hand_over(); }

/// What a new thread does before its first point decides nothing: it is done at once.
bool execution::run_to_first_point() {
  for (std::size_t i = 0; i < count_; ++i) {
    if (threads_[i].is == state::fresh) {
      switch_to(static_cast<thread_index>(i));
      return true;
    }
  }
  return false;
}

/// Somebody who can goes on, the running thread first.
void execution::hand_over() {
  if (run_to_first_point()) {
    self().is = state::ready;  // somebody has gone back to this one
    return;
  }
  std::array<thread_index, threads_max> able{};
  unsigned n = 0;
  if (can_run(self())) {
    able[n++] = current_;
  }
  const bool is_preemption = n > 0 && self().is == state::ready && self().has_begun;
  for (std::size_t i = 0; i < count_; ++i) {
    if (i != current_ && can_run(threads_[i])) {
      able[n++] = static_cast<thread_index>(i);
    }
  }
  if (n == 0) {
    if (is_over()) {
      end(ending::complete);
    }
    fail("nobody can go on: " + who_waits());
  }
  if (decide_.is_beyond_record() && seen_.met(hash(), bounds_.preemptions - preemptions_)) {
    end(ending::redundant);
  }
  if (is_preemption && preemptions_ >= bounds_.preemptions) {
    n = 1;
  }
  const thread_index next = able[decide_.take(n)];
  if (next != current_) {
    preemptions_ += is_preemption ? 1U : 0U;
    switch_to(next);
  }
  self().is = state::ready;
}

void execution::switch_to(thread_index next) {
  thread& from = self();
  current_ = next;
  from.context.switch_to(threads_[next].context);
}

std::uint64_t execution::hash() const noexcept {
  std::uint64_t h = memory_.hash();
  for (std::size_t i = 0; i < count_; ++i) {
    const thread& t = threads_[i];
    h = mix(mix(h, t.knows.history), static_cast<std::uint64_t>(t.is));
    h = mix(mix(mix(h, memory_.hash(t.knows.now)), memory_.hash(t.knows.acquired)), memory_.hash(t.knows.released));
  }
  std::uint64_t doors = 0;
  for (const kernel_word& w : words_) {
    doors += mix(reinterpret_cast<std::uintptr_t>(w.address), memory_.hash(w.woken));
  }
  for (const held_mutex& m : mutexes_) {
    doors += mix(reinterpret_cast<std::uintptr_t>(m.address), mix(m.last, m.is_held ? 1 : 0));
  }
  h = mix(mix(mix(h, doors), spurious_), memory_.stale_left());
  h = mix(h, static_cast<std::uint64_t>(now_ns_));
  return bounds_.preemptions == ~0U ? h : mix(h, current_);
}

std::string execution::who_waits() const {
  static constexpr const char* why[] = {"",
                                        "",
                                        "",
                                        "",
                                        "spins, and nothing that it reads can change",
                                        "sleeps on a futex",
                                        "sleeps on a futex",
                                        "waits for a mutex",
                                        "waits for the others",
                                        "waits for the others",
                                        ""};
  std::string all;
  for (std::size_t i = 0; i < count_; ++i) {
    const thread& t = threads_[i];
    if (t.is != state::finished) {
      all += (all.empty() ? "T" : "; T") + std::to_string(i) + " " + why[static_cast<std::size_t>(t.is)];
      all += t.is == state::joining || t.is == state::settling ? "" : " (" + place(t.at) + ")";
    }
  }
  return all;
}

}  // namespace homing::model
