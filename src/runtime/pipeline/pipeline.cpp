#include "runtime/pipeline/pipeline.hpp"

#include <optional>
#include <utility>

#include <oneapi/tbb/detail/_small_object_pool.h>

#include "platform/clock.hpp"
#include "runtime/dispatch/dispatch.hpp"
#include "runtime/task/context.hpp"

namespace tbb::detail::r1 {

namespace sync = homing::sync;

namespace {

/// Set by the input body that the calling thread runs, when it says stop: a null item may be a good item.
thread_local const d1::base_filter* stopped_filter = nullptr;

/// What place() has said about the filter that the calling thread is just making.
struct placed_filter {
  const d1::base_filter* filter = nullptr;
  homing::detail::item_home home = nullptr;
  const void* placed = nullptr;
};
thread_local placed_filter just_placed;

thread_local unsigned items_fetched = 0;

// Not inlined: compilers take the address of a thread's own variable for constant within a function, and a body may
// have moved the stack to another thread.

/// Taken back, since the next one to look may be a call whose body waited, with this one inside it.
[[gnu::noinline]] bool take_stop_of(const d1::base_filter& filter) noexcept {
  return std::exchange(stopped_filter, nullptr) == &filter;
}
[[gnu::noinline]] placed_filter take_placed() noexcept { return std::exchange(just_placed, {}); }
/// Whether the time of the item to be fetched is taken: of one in so many.
[[gnu::noinline]] bool next_item_is_timed() noexcept {
  constexpr unsigned timed_one_in = 32;
  return ++items_fetched % timed_one_in == 0;
}

}  // namespace

// ---- the buffer before a serial filter

void input_buffer::grow(std::uint64_t turn) {
  std::size_t size = ring_.size();
  while (turn - now_ >= size) {
    size *= 2;
  }
  std::vector<cell> larger(size);
  for (std::uint64_t t = now_; t < now_ + ring_.size(); ++t) {
    larger[t & (size - 1)] = at(t);
  }
  ring_ = std::move(larger);
}

bool input_buffer::keep(token& t) {
  const sync::scoped_spin_lock hold(lock_);
  if (ordered_ && !t.has_place) {
    t.place = next_++;
    t.has_place = true;
  }
  const std::uint64_t turn = ordered_ ? t.place : next_++;
  if (turn == now_) {
    return false;
  }
  if (turn - now_ >= ring_.size()) {
    grow(turn);
  }
  at(turn) = {t, true};
  return true;
}

bool input_buffer::done(token& next) {
  const sync::scoped_spin_lock hold(lock_);
  ++now_;
  cell& waiting = at(now_);
  if (!waiting.present) {
    return false;
  }
  next = waiting.held;
  waiting.present = false;
  return true;
}

bool input_buffer::take_any(void*& item) {
  for (cell& c : ring_) {
    if (c.present) {
      c.present = false;
      item = c.held.item;
      return true;
    }
  }
  return false;
}

// ---- an item's task

class stage_task final : public d1::task {
 public:
  /// The input task: one that fetches an item from the input filter. Where that has no home, a helper: it takes what
  /// is on offer when it runs.
  stage_task(pipeline& p, d1::small_object_allocator& allocator)
      : pipeline_(p), stage_(p.stages_.data()), allocator_(allocator), at_input_(true) {
    pipeline_.wait_.reserve();
  }
  /// A task for an item whose turn has come before `at`.
  stage_task(pipeline& p, const stage& at, const input_buffer::token& token, d1::small_object_allocator& allocator)
      : pipeline_(p), stage_(&at), token_(token), its_turn_(true), allocator_(allocator), at_input_(false) {
    pipeline_.wait_.reserve();
  }

  /// Makes a new task ready, at home if its stage has one.
  void start(d1::task_group_context& context) {
    try {
      const std::uint32_t home = stage_->home_of(token_.item);
      sent_ = true;
      return send(home, context);
    } catch (...) {
      sent_ = false;  // its home is asked for again when it runs, where an exception has a task to end in
    }
    d1::spawn(*this, context);
  }

  task* execute(d1::execution_data& ed) override {
    if (at_input_ && !pipeline_.input_has_home()) {
      homing::scheduler::thread_state& t = homing::scheduler::this_thread();
      const bool stolen = ed.original_slot != to_index(t.slot_number);
      if (stolen && !pipeline_.offer_.is_worth_sharing()) {
        t.backoff.regret();
      }
      if (!pipeline_.offer_.take_by_helper()) {
        finish(ed);
        return nullptr;
      }
    }
    do {
      while (stage_ != end()) {
        if (homing::scheduler::context_access::is_cancelled(*ed.context)) {
          return cancel(ed);
        }
        if (!has_turn()) {
          if (at_input_ || !may_go_on() || !take_over_input()) {
            finish(ed);
            return nullptr;
          }
          continue;
        }
        if (is_elsewhere(ed)) {
          return nullptr;  // another thread may have ended this task by now
        }
        if (!(at_input_ ? fetch(ed) : pass(ed))) {
          finish(ed);
          return nullptr;
        }
      }
    } while (retire(ed));
    finish(ed);
    return nullptr;
  }

  task* cancel(d1::execution_data& ed) override {
    if (!at_input_ && stage_ != end()) {
      stage_->filter->finalize(token_.item);
    }
    if (next_) {
      next_->at->filter->finalize(next_->token.item);
    }
    finish(ed);
    return nullptr;
  }

 private:
  [[nodiscard]] const stage* end() const noexcept { return pipeline_.stages_.data() + pipeline_.stages_.size(); }

  /// False if a buffer has kept the item, or there is no more input.
  bool has_turn() {
    if (at_input_) {
      return !pipeline_.ended_.load(sync::acquire);
    }
    // Before it travels, so that what waits for its turn waits in the buffer. If the filter throws, cancel() has the
    // item.
    its_turn_ = its_turn_ || stage_->buffer == nullptr || !stage_->buffer->keep(token_);
    return its_turn_;
  }

  /// Sends this task to the home of its stage, unless that is here, or it has been sent: true if it is gone.
  bool is_elsewhere(d1::execution_data& ed) {
    if (std::exchange(sent_, true)) {
      return false;
    }
    const std::uint32_t home = stage_->home_of(token_.item);
    if (home == homing::detail::no_home || homing::domain_index{home} == homing::scheduler::this_thread().domain) {
      return false;
    }
    send(home, *ed.context);
    return true;
  }

  /// TBB-NUMA 4.4.3: a child whose home is elsewhere is detached, one at home is spawned.
  void send(std::uint32_t home, d1::task_group_context& context) {
    homing::scheduler::thread_state& t = homing::scheduler::this_thread();
    if (home == homing::detail::no_home) {
      homing::scheduler::spawn(t, *this, context);
    } else if (homing::domain_index{home} == t.domain) {
      homing::scheduler::spawn(t, *this, context, homing::scheduler::affinity_to(t.domain));
    } else {
      homing::scheduler::detach(t, *this, context, homing::domain_index{home});
    }
  }

  void go_to_next_stage() noexcept {
    ++stage_;
    its_turn_ = false;
    sent_ = false;
  }

  /// Runs the input filter; false if there is no more input.
  bool fetch(d1::execution_data& ed) {
    d1::base_filter& filter = *stage_->filter;
    const bool serial = filter.is_serial();
    began_ns_ = next_item_is_timed() ? homing::platform::monotonic_ns() : 0;
    if (!serial) {
      start_next_input(ed);
    }
    const bool may_be_null = filter.object_may_be_null();
    void* item = filter(nullptr);
    const bool said_stop = take_stop_of(filter);  // a body's stop is said when it has returned
    const bool stopped = item == nullptr && (said_stop || !may_be_null);
    if (stopped) {
      pipeline_.ended_.store(true, sync::release);
      return false;
    }
    token_.item = item;
    at_input_ = false;
    token_.has_place = serial && filter.is_ordered();
    if (token_.has_place) {
      token_.place = pipeline_.next_turn_++;
    }
    go_to_next_stage();
    if (serial) {
      start_next_input(ed);
    }
    return true;
  }

  void start_next_input(d1::execution_data& ed) {
    if (pipeline_.tokens_.take()) {  // [PI3] next_turn_ and the input body's own state go to the next input task
      make_input(ed);
    }
  }

  /// The next input may be fetched: at its home, or by whoever comes first.
  void make_input(d1::execution_data& ed) {
    if (pipeline_.input_has_home() || pipeline_.offer_.offer(this)) {
      d1::small_object_allocator allocator{};
      allocator.new_object<stage_task>(ed, pipeline_, allocator)->start(*ed.context);
    }
  }

  /// Takes the item through one filter.
  bool pass(d1::execution_data& ed) {
    const stage& at = *stage_;
    token_.item = (*at.filter)(token_.item);
    go_to_next_stage();
    input_buffer::token next;
    if (at.buffer != nullptr && at.buffer->done(next)) {
      next_ = {&at, next};  // [PI2] this task's
      if (stage_ != end()) {
        leave_next_to_others(ed);
      }
    }
    return true;
  }

  /// To a task of its own. Where there is no memory for one, it stays this task's, which finalizes it.
  void leave_next_to_others(d1::execution_data& ed) {
    d1::small_object_allocator allocator{};
    auto& others = *allocator.new_object<stage_task>(ed, pipeline_, *next_->at, next_->token, allocator);
    next_.reset();
    others.start(*ed.context);
  }

  [[nodiscard]] static bool may_go_on() noexcept {
    return homing::scheduler::may_go_on(homing::scheduler::this_thread());
  }

  /// The item is through: its token is free. True if this task goes on.
  bool retire(d1::execution_data& ed) {
    const bool input_stood_still = pipeline_.tokens_.give_back();  // [PI5]
    if (began_ns_ != 0) {
      pipeline_.offer_.add_item_time(homing::platform::monotonic_ns() - std::exchange(began_ns_, 0));
    }
    const bool goes_on = may_go_on();
    if (goes_on && !next_) {
      return input_stood_still ? go_on_as_input() : take_over_input();
    }
    if (goes_on) {
      go_on_with_next();
    } else if (next_) {
      leave_next_to_others(ed);
    }
    if (input_stood_still) {
      make_input(ed);
    }
    return goes_on;
  }

  void go_on_with_next() noexcept {
    stage_ = next_->at;
    token_ = next_->token;
    next_.reset();
    its_turn_ = true;
    sent_ = false;
  }

  bool go_on_as_input() noexcept {
    if (pipeline_.ended_.load(sync::acquire)) {
      return false;
    }
    at_input_ = true;
    stage_ = pipeline_.stages_.data();
    token_ = {};
    its_turn_ = false;
    sent_ = false;
    return true;
  }

  /// As the input task, if input waits for one that takes it.
  bool take_over_input() noexcept {
    began_ns_ = 0;
    return !pipeline_.input_has_home() && pipeline_.offer_.take(this) && go_on_as_input();
  }

  void finish(d1::execution_data& ed) {
    d1::wait_context& wait = pipeline_.wait_;
    d1::small_object_allocator allocator = allocator_;
    allocator.delete_object(this, ed);
    wait.release();
  }

  pipeline& pipeline_;
  const stage* stage_;
  input_buffer::token token_;
  bool its_turn_ = false;  ///< before a serial filter: the others wait for this item
  bool sent_ = false;      ///< to its stage's home: it runs the filter wherever it is taken
  d1::small_object_allocator allocator_;
  bool at_input_;
  std::int64_t began_ns_ = 0;  ///< of its item's way from the input filter on; 0: not timed
  /// What waited for a filter when this task's item went through it, until somebody goes on with it.
  struct next_item {
    const stage* at;
    input_buffer::token token;
  };
  std::optional<next_item> next_;
};

// ---- the whole

void end_of_filter::operator()(d1::base_filter* filter) const noexcept {
  filter->~base_filter();
  r1::deallocate_memory(filter);
}

pipeline::pipeline(d1::task_group_context& context, std::size_t tokens, const d1::filter_node& chain)
    : context_(context), tokens_(tokens) {
  add_stages(chain);
}

pipeline::~pipeline() {
  for (const stage& s : stages_) {
    if (s.buffer != nullptr) {
      for (void* item = nullptr; s.buffer->take_any(item);) {
        s.filter->finalize(item);
      }
    }
  }
}

void pipeline::add_stages(const d1::filter_node& node) {
  if (node.left && node.right) {
    add_stages(*node.left);
    add_stages(*node.right);
    return;
  }
  stage& added = stages_.emplace_back();
  static_cast<void>(take_placed());
  d1::base_filter* const f = node.create_filter();
  added.filter.reset(f);
  if (const placed_filter placed = take_placed(); placed.filter == f) {
    added.home = placed.home;
    added.placed = placed.placed;
  }
  f->my_pipeline = this;
  if (f->is_serial() && stages_.size() > 1) {
    added.buffer = std::make_unique<input_buffer>(f->is_ordered());
  }
}

void pipeline::place(d1::base_filter& filter, homing::detail::item_home home, const void* placed) noexcept {
  just_placed = {&filter, home, placed};
}

void pipeline::run() {
  d1::small_object_allocator allocator{};
  auto& first = *allocator.new_object<stage_task>(*this, allocator);
  offer_.offer(&first);
  d1::execute_and_wait(first, context_, wait_, context_);
}

void pipeline::end_of_input(d1::base_filter& filter) noexcept {
  stopped_filter = &filter;
  if (filter.is_serial()) {
    filter.my_pipeline->ended_.store(true, sync::release);
  }
}

}  // namespace tbb::detail::r1
