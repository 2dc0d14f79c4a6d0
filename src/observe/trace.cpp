#include "observe/trace.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>

#include "platform/fork.hpp"

namespace homing::observe {

namespace {

sync::atomic<bool> is_on{false};
constinit sync::atomic<unsigned> refused{0};  // threads
sync::atomic<trace_buffer*> newest{nullptr};
std::mutex list_lock;
const platform::fork_part listed_over_fork(
    platform::fork_layer::observe, [] { list_lock.lock(); }, [] { list_lock.unlock(); }, [] { list_lock.unlock(); });

// In the order of trace_buffer::seen_.
constexpr event events[] = {event::steal_near, event::steal_far, event::mailbox, event::shared_queue, event::revoke};
constexpr taken_from meanings[] = {taken_from::steal_near, taken_from::steal_far, taken_from::mailbox,
                                   taken_from::shared_queue, taken_from::revoke};

}  // namespace

class trace_access {
 public:
  static trace_buffer* make(const counters& now) noexcept {
    constexpr std::size_t bytes = trace_buffer::capacity * sizeof(trace_buffer::entry);
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* const buffer = new (std::nothrow) trace_buffer;
    if (buffer == nullptr) {
      ::munmap(memory, bytes);
      return nullptr;
    }
    buffer->entries_ = static_cast<trace_buffer::entry*>(memory);
    buffer->thread_ = ::gettid();
    static_cast<void>(buffer->how_taken(now));  // what an earlier thread of the record did is not this one's
    const std::lock_guard hold(list_lock);
    buffer->next_ = newest.load(sync::relaxed);
    newest.store(buffer, sync::release);  // partner: all_traces()
    return buffer;
  }
  static void restart(trace_buffer* mine) noexcept {
    // The other threads' are never freed, as those of ended threads: kept where a leak checker finds them.
    static trace_buffer* left_behind = nullptr;
    for (trace_buffer* b = newest.load(sync::relaxed); b != nullptr;) {
      trace_buffer* const next = b->next_;
      if (b != mine) {
        b->next_ = left_behind;
        left_behind = b;
      }
      b = next;
    }
    if (mine != nullptr) {
      mine->next_ = nullptr;
      mine->count_.store(0, sync::relaxed);
      mine->dropped_.store(0, sync::relaxed);
      ++mine->life_;
      std::fill(std::begin(mine->seen_), std::end(mine->seen_), 0U);
      mine->thread_ = ::gettid();
    }
    newest.store(mine, sync::relaxed);
    refused.store(0, sync::relaxed);
  }
};

taken_from trace_buffer::how_taken(const counters& now) noexcept {
  taken_from how = taken_from::own;
  for (std::size_t i = 0; i < seen_count; ++i) {
    const std::uint64_t value = now.read(events[i]);
    if (value != seen_[i]) how = meanings[i];
    seen_[i] = value;
  }
  return how;
}

traced_place trace_buffer::begin(const traced_task& task) noexcept {
  const std::size_t at = count_.load(sync::relaxed);  // relaxed: only the owner writes it
  if (at == capacity) {
    dropped_.store(dropped_.load(sync::relaxed) + 1, sync::relaxed);
  } else {
    new (&entries_[at]) entry{task, sync::atomic<std::int64_t>(still_running)};
    count_.store(at + 1, sync::release);  // partner: size()
  }
  return {at, life_};
}

void trace_buffer::end(traced_place place, std::int64_t end_ns) noexcept {
  if (place.at == capacity || place.life != life_) return;  // dropped, or begun in the parent of this process
  entries_[place.at].end_ns.store(end_ns, sync::relaxed);   // relaxed: nothing is published by it
}

std::optional<std::int64_t> trace_buffer::end_ns(std::size_t i) const noexcept {
  const std::int64_t value = entries_[i].end_ns.load(sync::relaxed);  // relaxed: as in end()
  return value == still_running ? std::nullopt : std::optional(value);
}

void switch_trace_on() noexcept { is_on.store(true, sync::relaxed); }

trace_buffer* make_trace_buffer(const counters& now) noexcept {
  if (!is_on.load(sync::relaxed)) return nullptr;
  trace_buffer* const made = trace_access::make(now);
  if (made == nullptr) refused.fetch_add(1, sync::relaxed);  // relaxed: a count, read at exit
  return made;
}

unsigned threads_without_trace() noexcept { return refused.load(sync::relaxed); }

void restart_trace_after_fork(trace_buffer* mine) noexcept { trace_access::restart(mine); }

const trace_buffer* all_traces() noexcept { return newest.load(sync::acquire); }

bool has_traced_tasks() noexcept {
  for (const trace_buffer* b = all_traces(); b != nullptr; b = b->next()) {
    if (b->size() > 0) return true;
  }
  return false;
}

std::int64_t trace_clock_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace homing::observe
