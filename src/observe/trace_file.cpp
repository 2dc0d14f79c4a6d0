#include "observe/trace_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "platform/env.hpp"
#include "platform/output_file.hpp"

namespace homing::observe {
namespace {

// By taken_from.
constexpr const char* names[] = {
    "task",          "task, stolen near", "task, stolen far", "task from a mailbox", "task from a shared queue",
    "task, revoked", "task, resumed"};
constexpr const char* kinds[] = {"own", "steal,near", "steal,far", "mailbox", "shared_queue", "revoke", "resume"};

/// Takes a block of the text; false: it wants no more.
using block_taker = std::function<bool(std::string_view)>;

/// The events, separated by commas, in blocks: the whole text may be much longer than there is memory to spare.
class event_text {
 public:
  explicit event_text(block_taker take) : take_(std::move(take)) { text_.reserve(block_bytes + line_bytes); }

  template <class... Values>
  void add(const char* format, Values... values) {
    char line[line_bytes];
    const int length = std::snprintf(line, sizeof line, format, values...);
    text_.append(line, std::min(static_cast<std::size_t>(length), sizeof line - 1));
    if (text_.size() >= block_bytes) hand_on();
  }
  template <class... Values>
  void add_event(const char* format, Values... values) {
    text_ += any_event_ ? ",\n" : "\n";
    any_event_ = true;
    add(format, values...);
  }
  void end() {
    text_ += "\n]}\n";
    hand_on();
  }
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }

 private:
  void hand_on() {
    wanted_ = wanted_ && take_(text_);
    text_.clear();
  }

  static constexpr std::size_t block_bytes = std::size_t{1} << 16U;
  static constexpr std::size_t line_bytes = 320;

  block_taker take_;
  std::string text_;
  bool any_event_ = false;
  bool wanted_ = true;
};

/// What the buffers held at one moment, oldest first.
struct held_tasks {
  struct of_thread {
    const trace_buffer* buffer;
    std::size_t tasks;
  };
  std::vector<of_thread> threads;
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t dropped = 0;
};

held_tasks held_by(const trace_buffer* newest) {
  held_tasks held;
  for (const trace_buffer* b = newest; b != nullptr; b = b->next()) held.threads.push_back({b, b->size()});
  std::reverse(held.threads.begin(), held.threads.end());
  for (const auto& [buffer, tasks] : held.threads) {
    held.dropped += buffer->dropped();
    for (std::size_t i = 0; i < tasks; ++i) held.start_ns = std::min(held.start_ns, (*buffer)[i].begin_ns);
  }
  return held;
}

// Viewers keep process 0 for themselves: domain d is process d + 1.
void add_domains(event_text& text, const std::vector<traced_domain>& domains) {
  for (std::size_t d = 0; d < domains.size(); ++d) {
    text.add_event(
        "{\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"domain %zu (node %d)\"}}",
        d + 1, d, domains[d].node);
    text.add_event("{\"ph\":\"M\",\"pid\":%zu,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%zu}}",
                   d + 1, d);
  }
}

void add_task(event_text& text, const traced_task& t, std::size_t tid, std::int64_t start_ns,
              std::optional<std::int64_t> end_ns, std::int64_t now_ns) {
  const auto how = static_cast<std::size_t>(t.how);
  const std::int64_t begin = t.begin_ns - start_ns;
  const std::int64_t length = std::max(end_ns.value_or(now_ns), t.begin_ns) - t.begin_ns;
  text.add_event(
      "{\"ph\":\"X\",\"pid\":%u,\"tid\":%zu,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,\"name\":\"%s\",\"cat\":\"%s\","
      "\"args\":{\"home\":%u%s}}",
      t.ran_in + 1U, tid, static_cast<long long>(begin / 1000), static_cast<long long>(begin % 1000),
      static_cast<long long>(length / 1000), static_cast<long long>(length % 1000), names[how], kinds[how],
      static_cast<unsigned>(t.home), end_ns ? "" : ",\"ended\":false");
}

void hand_on_json(const held_tasks& held, const std::vector<traced_domain>& domains, std::int64_t now_ns,
                  block_taker take) {
  event_text text(std::move(take));
  // cli/run/files.cpp knows traces of an earlier run by these words, in looks_like_trace().
  text.add("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_tasks\":%llu},\"traceEvents\":[",
           static_cast<unsigned long long>(held.dropped));
  add_domains(text, domains);
  const std::size_t stride = domains.size() + 1;
  for (std::size_t n = 0; n < held.threads.size(); ++n) {
    const auto& [buffer, tasks] = held.threads[n];
    std::set<unsigned> seen;  // domains; an application's thread may have been in several
    for (std::size_t i = 0; i < tasks && text.wanted(); ++i) {
      const traced_task& t = (*buffer)[i];
      const std::size_t tid = (n + 1) * stride + t.ran_in;  // viewers want a thread in one process only
      if (seen.insert(t.ran_in).second) {
        text.add_event(
            "{\"ph\":\"M\",\"pid\":%u,\"tid\":%zu,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %d\"}}",
            t.ran_in + 1U, tid, static_cast<int>(buffer->thread()));
      }
      add_task(text, t, tid, held.start_ns, buffer->end_ns(i), now_ns);
    }
  }
  text.end();
}

struct opened_trace {
  std::string name;
  platform::opened_output out;
  bool is_another = false;  ///< not the name that was asked for: that file is another process's
};

bool is_regular_file(const char* path) noexcept {
  struct stat there {};
  return ::stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

/// The trace of another process is kept; a folder or device is meant for something else.
opened_trace open_trace(const char* path) {
  opened_trace trace{path, platform::open_output(path, platform::output_mode::create)};
  if (trace.out.error_number != EEXIST) return trace;
  if (!is_regular_file(path)) {
    trace.out.problem = "it is not a file";
    return trace;
  }
  trace.is_another = true;
  // In containers a process's number is often that of the run before.
  const std::string own = std::string(path) + '.' + std::to_string(::getpid());
  trace.name = own;
  for (unsigned number = 2; trace.out.error_number == EEXIST; ++number) {
    trace.out = platform::open_output(trace.name.c_str(), platform::output_mode::create);
    if (trace.out.error_number == EEXIST) trace.name = own + '.' + std::to_string(number);
  }
  return trace;
}

void write_into(const opened_trace& trace, const held_tasks& held, const std::vector<traced_domain>& domains,
                const char* path) {
  const char* problem = trace.out.problem;
  if (problem == nullptr) {
    hand_on_json(held, domains, trace_clock_ns(), [&](std::string_view block) {
      if (!platform::write_whole(trace.out.file, block)) problem = std::strerror(errno);
      return problem == nullptr;
    });
  }
  if (problem != nullptr) {
    platform::warn("HOMING_TRACE=%s cannot be written: %s", platform::printable(trace.name).c_str(), problem);
    return;
  }
  // Apart from its folder, which may be all that there is room to print.
  const platform::printable name(std::string_view(trace.name).substr(trace.name.rfind('/') + 1));
  if (trace.is_another) {
    platform::warn("HOMING_TRACE=%s exists, perhaps of another process; the trace is beside it, in %s",
                   platform::printable(path).c_str(), name.c_str());
  }
  if (held.dropped > 0) {
    platform::warn("%s lacks %llu tasks: a trace holds the first %zu of each thread; trace a shorter run", name.c_str(),
                   static_cast<unsigned long long>(held.dropped), trace_buffer::capacity);
  }
}

}  // namespace

std::string trace_json(const trace_buffer* newest, const std::vector<traced_domain>& domains, std::int64_t now_ns) {
  std::string text;
  hand_on_json(held_by(newest), domains, now_ns, [&](std::string_view block) {
    text += block;
    return true;
  });
  return text;
}

void write_trace(const char* path, const std::vector<traced_domain>& domains) noexcept {
  try {
    const held_tasks held = held_by(all_traces());
    const opened_trace trace = open_trace(path);
    const platform::owned_file closed_at_end(trace.out.file);
    write_into(trace, held, domains, path);
  } catch (const std::bad_alloc&) {
    platform::warn("HOMING_TRACE=%s: no memory to write it", platform::printable(path).c_str());
  }
}

}  // namespace homing::observe
