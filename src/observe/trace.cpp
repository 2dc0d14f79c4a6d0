#include "observe/trace.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <set>

#include "platform/env.hpp"
#include "platform/fork.hpp"
#include "platform/output_file.hpp"

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

constexpr const char* names[] = {
    "task",         "task, stolen near", "task, stolen far", "task from a mailbox", "task from a shared queue",
    "task, revoked"};
constexpr const char* kinds[] = {"own", "steal,near", "steal,far", "mailbox", "shared_queue", "revoke"};

template <class... Values>
void append(std::string& text, const char* format, Values... values) {
  char line[320];
  const int length = std::snprintf(line, sizeof line, format, values...);
  text.append(line, std::min(static_cast<std::size_t>(length), sizeof line - 1));
}

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

std::int64_t trace_clock_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string trace_json(const trace_buffer* first, const std::vector<traced_domain>& domains, std::int64_t now_ns) {
  std::int64_t start = 0;
  bool any = false;
  std::uint64_t dropped = 0;
  std::vector<const trace_buffer*> buffers;
  for (const trace_buffer* b = first; b != nullptr; b = b->next()) buffers.push_back(b);
  std::reverse(buffers.begin(), buffers.end());  // oldest first
  std::vector<std::size_t> sizes;                // of each, at one moment
  for (const trace_buffer* b : buffers) {
    sizes.push_back(b->size());
    dropped += b->dropped();
    for (std::size_t i = 0; i < sizes.back(); ++i) {
      start = any ? std::min(start, (*b)[i].begin_ns) : (*b)[i].begin_ns;
      any = true;
    }
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
  append(text, "\"dropped_tasks\":%llu},\"traceEvents\":[\n", static_cast<unsigned long long>(dropped));
  // Viewers keep process 0 for themselves: domain d is process d + 1.
  for (std::size_t d = 0; d < domains.size(); ++d) {
    append(text,
           "{\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"domain %zu (node "
           "%d)\"}},\n",
           d + 1, d, domains[d].node);
    append(text,
           "{\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%zu}},\n",
           d + 1, d);
  }
  const std::size_t stride = domains.size() + 1;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    std::set<unsigned> seen;  // domains; an application's thread may have been in several
    for (std::size_t i = 0; i < sizes[b]; ++i) {
      const traced_task& t = (*buffers[b])[i];
      const unsigned pid = t.ran_in + 1U;
      const std::size_t tid = (b + 1) * stride + t.ran_in;  // viewers want a thread in one process only
      if (seen.insert(t.ran_in).second) {
        append(text,
               "{\"ph\":\"M\",\"pid\":%u,\"tid\":%zu,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %d\"}},\n",
               pid, tid, static_cast<int>(buffers[b]->thread()));
      }
      const auto how = static_cast<std::size_t>(t.how);
      const std::int64_t begin = t.begin_ns - start;
      const std::optional<std::int64_t> end = buffers[b]->end_ns(i);
      const std::int64_t length = std::max(end.value_or(now_ns), t.begin_ns) - t.begin_ns;
      append(
          text,
          "{\"ph\":\"X\",\"pid\":%u,\"tid\":%zu,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,\"name\":\"%s\",\"cat\":\"%s\","
          "\"args\":{\"home\":%u%s}},\n",
          pid, tid, static_cast<long long>(begin / 1000), static_cast<long long>(begin % 1000),
          static_cast<long long>(length / 1000), static_cast<long long>(length % 1000), names[how], kinds[how],
          static_cast<unsigned>(t.home), end ? "" : ",\"ended\":false");
    }
  }
  // The last element has no comma behind it.
  if (text.ends_with(",\n")) text.erase(text.size() - 2);
  return text + "\n]}\n";
}

void write_trace(const char* path, const std::vector<traced_domain>& domains) noexcept {
  try {
    std::string name = path;
    const std::string text = trace_json(all_traces(), domains, trace_clock_ns());
    platform::opened_output out = platform::open_output(name.c_str(), platform::output_mode::create);
    // The trace of another process, but not a folder or device that is meant for something else.
    struct stat there {};
    const bool exists = out.error_number == EEXIST && ::stat(name.c_str(), &there) == 0;
    const bool is_file = exists && S_ISREG(there.st_mode);
    if (is_file) {
      name += '.' + std::to_string(::getpid());
      out = platform::open_output(name.c_str(), platform::output_mode::create);
    }
    const char* problem = exists && !is_file ? "it is not a file" : out.problem;
    if (problem == nullptr && !platform::write_whole(out.file, text)) problem = std::strerror(errno);
    if (out.file >= 0) ::close(out.file);
    if (problem == nullptr && is_file) {
      platform::warn("HOMING_TRACE=%s exists, perhaps of another process; the trace is in %s",
                     platform::printable(path).c_str(), platform::printable(name).c_str());
    }
    if (problem != nullptr) {
      platform::warn("HOMING_TRACE=%s cannot be written: %s", platform::printable(name).c_str(), problem);
    }
  } catch (const std::bad_alloc&) {
    platform::warn("HOMING_TRACE=%s: no memory to write it", platform::printable(path).c_str());
  }
}

}  // namespace homing::observe
