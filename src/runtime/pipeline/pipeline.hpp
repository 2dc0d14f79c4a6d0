/// parallel_pipeline: items on their way through a chain of filters, at most so many at once.
///
/// An item is carried by one task from filter to filter. Before a serial filter it may have to wait for its turn; then
/// the filter's buffer keeps the item, the task ends, and whoever finishes the turn before makes a new task for it.
/// A task whose item is through, or waits, goes on with the next input, if that is on offer (input_offer), or with the
/// item that waited for the last filter behind its own.
///
/// Before a filter whose home is in another domain the task goes there, with its turn if it has one, and once only:
/// whoever takes it runs the filter.
///
/// Threads:   one run() per pipeline object; its tasks on any thread.
/// Errors:    what a filter throws cancels the context and comes out of run(); items under way are finalized.
/// Protocol:  docs/protocols/pipeline.md.
/// Source:    oneTBB's documentation of parallel_pipeline; TBB-NUMA 4.4.3 (detaching), figure 10 (its task tree).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <oneapi/tbb/parallel_pipeline.h>
#include <homing/detail/tasks_door.hpp>

#include "runtime/pipeline/input_offer.hpp"
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

  /// [PI1] False if it is the token's turn: the caller runs the filter, then calls done(). True if the buffer has kept
  /// it.
  bool keep(token& t);

  /// [PI2] The filter is through with the token whose turn it was. True if the next one waits here.
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

/// A filter as its node has made it: in memory of ours, which ends with it.
struct end_of_filter {
  void operator()(d1::base_filter* filter) const noexcept;
};

/// A filter in its place in the chain.
struct stage {
  std::unique_ptr<d1::base_filter, end_of_filter> filter;
  std::unique_ptr<input_buffer> buffer;  ///< before a serial filter that is not the first
  homing::detail::item_home home = nullptr;
  const void* placed = nullptr;  ///< for `home`

  /// Where the item should meet the filter: a domain, or homing::detail::no_home.
  [[nodiscard]] std::uint32_t home_of(void* item) const {
    return home == nullptr ? homing::detail::no_home : home(placed, item);
  }
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

  /// The filter that the calling thread is just making for a pipeline has a home. See tasks_door.
  static void place(d1::base_filter& filter, homing::detail::item_home home, const void* placed) noexcept;

 private:
  friend class stage_task;

  void add_stages(const d1::filter_node& node);

  [[nodiscard]] bool input_has_home() const noexcept { return stages_.front().home != nullptr; }

  d1::task_group_context& context_;
  std::vector<stage> stages_;
  d1::wait_context wait_{0};
  homing::scheduler::input_tokens tokens_;
  homing::sync::atomic<bool> ended_{false};
  homing::scheduler::input_offer offer_;
  std::uint64_t next_turn_ = 0;  // of a serial input filter; handed from input task to input task
};

}  // namespace tbb::detail::r1
