/// parallel_pipeline: items on their way through a chain of filters, at most so many at once.
///
/// An item is carried by one task from filter to filter. Before a serial filter it may have to wait for its turn; then
/// the filter's buffer keeps the item, the task ends, and whoever finishes the turn before makes a new task for it.
///
/// Threads:   one run() per pipeline object; its tasks on any thread.
/// Errors:    what a filter throws cancels the context and comes out of run(); items under way are finalized.
/// Source:    oneTBB's documentation of parallel_pipeline; TBB-NUMA figure 10 (the shape of its task tree).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>

#include "sync/atomic.hpp"
#include "sync/spin_lock.hpp"

namespace tbb::detail::r1 {

/// The items that wait before a serial filter, by turn.
class input_buffer {
 public:
  explicit input_buffer(bool ordered) : ordered_(ordered), ring_(initial_capacity) {}

  /// An item with its place among all that pass in-order filters; the first such filter that it meets gives it one.
  struct token {
    void* item = nullptr;
    std::uint64_t place = 0;
    bool has_place = false;
  };

  /// False if it is the token's turn: the caller runs the filter, then calls done(). True if the buffer has kept it.
  bool keep(token& t);

  /// The filter is through with the token whose turn it was. True if the next one waits here.
  bool done(token& next);

  /// Takes any item that is left, after a cancellation.
  bool take_any(void*& item);

 private:
  struct cell {
    token held;
    bool present = false;
  };
  static constexpr std::size_t initial_capacity = 8;
  void grow(std::uint64_t turn);
  cell& at(std::uint64_t turn) { return ring_[turn & (ring_.size() - 1)]; }

  homing::sync::spin_lock lock_;
  const bool ordered_;
  std::uint64_t now_ = 0;   // whose turn it is
  std::uint64_t next_ = 0;  // the next turn to give out; in an in-order filter a turn is a place
  std::vector<cell> ring_;
};

class stage_task;

class pipeline {
 public:
  pipeline(d1::task_group_context& context, std::size_t tokens, const d1::filter_node& chain);
  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void run();

  /// A filter's input body has said stop.
  static void end_of_input(d1::base_filter& filter) noexcept;

 private:
  friend class stage_task;

  void add_filters(const d1::filter_node& node);
  static input_buffer* buffer_of(const d1::base_filter& f) noexcept { return f.my_input_buffer; }
  static d1::base_filter* next_of(const d1::base_filter& f) noexcept { return f.next_filter_in_pipeline; }

  d1::task_group_context& context_;
  std::vector<d1::base_filter*> filters_;
  std::vector<std::unique_ptr<input_buffer>> buffers_;
  d1::wait_context wait_{0};
  homing::sync::atomic<std::intptr_t> tokens_;
  homing::sync::atomic<bool> ended_{false};
  std::uint64_t next_turn_ = 0;  // of a serial input filter; handed from input task to input task
};

}  // namespace tbb::detail::r1
