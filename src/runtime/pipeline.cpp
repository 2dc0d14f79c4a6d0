#include "runtime/pipeline.hpp"

#include <oneapi/tbb/detail/_small_object_pool.h>

#include "runtime/context.hpp"

namespace tbb::detail::r1 {

namespace sync = homing::sync;

namespace {

/// Set by the input body that the calling thread runs, when it says stop: a null item may be a good item.
thread_local const d1::base_filter* stopped_filter = nullptr;

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
  /// A task that fetches an item from the input filter.
  stage_task(pipeline& p, d1::small_object_allocator& allocator)
      : pipeline_(p), filter_(p.filters_.front()), allocator_(allocator), at_input_(true) {
    pipeline_.wait_.reserve();
  }
  /// A task for an item whose turn has come before `filter`.
  stage_task(pipeline& p, d1::base_filter& filter, const input_buffer::token& token,
             d1::small_object_allocator& allocator)
      : pipeline_(p), filter_(&filter), token_(token), its_turn_(true), allocator_(allocator), at_input_(false) {
    pipeline_.wait_.reserve();
  }

  task* execute(d1::execution_data& ed) override {
    for (;;) {
      if (at_input_ && !fetch(ed)) {
        finish(ed);
        return nullptr;
      }
      while (filter_ != nullptr) {
        if (homing::scheduler::context_access::is_cancelled(*ed.context)) {
          return cancel(ed);
        }
        if (!pass(ed)) {
          finish(ed);
          return nullptr;
        }
      }
      if (!retire()) {
        finish(ed);
        return nullptr;
      }
    }
  }

  task* cancel(d1::execution_data& ed) override {
    if (!at_input_ && filter_ != nullptr) {
      filter_->finalize(token_.item);
    }
    finish(ed);
    return nullptr;
  }

 private:
  /// Runs the input filter; false if there is no more input.
  bool fetch(d1::execution_data& ed) {
    if (pipeline_.ended_.load(sync::acquire)) {
      return false;
    }
    const bool serial = filter_->is_serial();
    if (!serial) {
      spawn_next_input(ed);
    }
    const bool may_be_null = filter_->object_may_be_null();
    stopped_filter = nullptr;
    void* item = (*filter_)(nullptr);
    const bool stopped = may_be_null ? item == nullptr && stopped_filter == filter_ : item == nullptr;
    if (stopped) {
      pipeline_.ended_.store(true, sync::release);
      return false;
    }
    token_.item = item;
    at_input_ = false;
    token_.has_place = serial && filter_->is_ordered();
    if (token_.has_place) {
      token_.place = pipeline_.next_turn_++;
    }
    filter_ = pipeline::next_of(*filter_);
    if (serial) {
      spawn_next_input(ed);
    }
    return true;
  }

  void spawn_next_input(d1::execution_data& ed) {
    // acq_rel: next_turn_ and the input body's own state go from one input task to the next.
    if (pipeline_.tokens_.fetch_sub(1, sync::acq_rel) > 1) {
      d1::small_object_allocator allocator{};
      d1::spawn(*allocator.new_object<stage_task>(ed, pipeline_, allocator), *ed.context);
    }
  }

  /// Takes the item through one filter; false if a buffer has kept it.
  bool pass(d1::execution_data& ed) {
    d1::base_filter& filter = *filter_;
    input_buffer* buffer = pipeline::buffer_of(filter);
    if (buffer != nullptr && !its_turn_ && buffer->keep(token_)) {
      return false;
    }
    its_turn_ = true;  // should the filter throw, the item is finalized by cancel()
    token_.item = filter(token_.item);
    its_turn_ = false;
    filter_ = pipeline::next_of(filter);
    if (buffer != nullptr) {
      input_buffer::token next;
      if (buffer->done(next)) {
        d1::small_object_allocator allocator{};
        d1::spawn(*allocator.new_object<stage_task>(ed, pipeline_, filter, next, allocator), *ed.context);
      }
    }
    return true;
  }

  /// The item is through: its token is free. True if this task goes on as the input task.
  bool retire() {
    // acq_rel: as in spawn_next_input().
    if (pipeline_.tokens_.fetch_add(1, sync::acq_rel) > 0 || pipeline_.ended_.load(sync::acquire)) {
      return false;
    }
    at_input_ = true;
    filter_ = pipeline_.filters_.front();
    token_.has_place = false;
    return true;
  }

  void finish(d1::execution_data& ed) {
    d1::wait_context& wait = pipeline_.wait_;
    d1::small_object_allocator allocator = allocator_;
    allocator.delete_object(this, ed);
    wait.release();
  }

  pipeline& pipeline_;
  d1::base_filter* filter_;
  input_buffer::token token_;
  bool its_turn_ = false;
  d1::small_object_allocator allocator_;
  bool at_input_;
};

// ---- the whole

pipeline::pipeline(d1::task_group_context& context, std::size_t tokens, const d1::filter_node& chain)
    : context_(context), tokens_(static_cast<std::intptr_t>(tokens)) {
  add_filters(chain);
  for (std::size_t i = 0; i + 1 < filters_.size(); ++i) {
    filters_[i]->next_filter_in_pipeline = filters_[i + 1];
  }
  filters_.back()->next_filter_in_pipeline = nullptr;
}

pipeline::~pipeline() {
  for (d1::base_filter* f : filters_) {
    if (f->my_input_buffer != nullptr) {
      for (void* item = nullptr; f->my_input_buffer->take_any(item);) {
        f->finalize(item);
      }
    }
    f->~base_filter();
    r1::deallocate_memory(f);
  }
}

void pipeline::add_filters(const d1::filter_node& node) {
  if (node.left && node.right) {
    add_filters(*node.left);
    add_filters(*node.right);
    return;
  }
  d1::base_filter* f = node.create_filter();
  filters_.push_back(f);
  f->my_pipeline = this;
  if (f->is_serial() && filters_.size() > 1) {
    buffers_.push_back(std::make_unique<input_buffer>(f->is_ordered()));
    f->my_input_buffer = buffers_.back().get();
  }
}

void pipeline::run() {
  d1::small_object_allocator allocator{};
  auto& first = *allocator.new_object<stage_task>(*this, allocator);
  d1::execute_and_wait(first, context_, wait_, context_);
}

void pipeline::end_of_input(d1::base_filter& filter) noexcept {
  stopped_filter = &filter;
  if (filter.is_serial()) {
    filter.my_pipeline->ended_.store(true, sync::release);
  }
}

}  // namespace tbb::detail::r1
