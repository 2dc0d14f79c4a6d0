#include "observe/report.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "platform/env.hpp"
#include "platform/output_file.hpp"

namespace homing::observe {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

// [[home, ran in, tasks], ...]: most pairs of a large machine never occur.
std::string homes_of(const report& r) {
  std::string text;
  for (const auto& [pair, tasks] : r.homes) {
    text += (text.empty() ? "[" : ",[") + number(pair.first) + ',' + number(pair.second) + ',' + number(tasks) + ']';
  }
  return '[' + text + ']';
}

std::string threads_of(const report& r) {
  std::string text;
  for (const unsigned threads : r.threads_in) text += (text.empty() ? "" : ",") + number(threads);
  return '[' + text + ']';
}

std::string pages_of(const report& r) {
  if (!r.pages_known) return "null";
  std::string text;
  for (const auto& [node, bytes] : r.bytes_on) {
    text += (text.empty() ? "\"" : ",\"") + std::to_string(node) + "\":" + number(bytes);
  }
  return '{' + text + '}';
}

std::string line_of(const report& r) {
  const auto total = [&](event e) { return r.totals[static_cast<std::size_t>(e)]; };
  std::string text = "{\"homing\":\"" + std::string(r.version) + '"';
  const auto add = [&](const char* name, const std::string& value) {
    text += std::string(",\"") + name + "\":" + value;
  };
  add("pid", std::to_string(r.process));
  add("domains", number(r.domains));
  add("virtual", r.made_up ? "true" : "false");
  add("threads", number(r.threads));
  add("tasks", "{\"executed\":" + number(total(event::home) + total(event::away)) +
                   ",\"home\":" + number(total(event::home)) + ",\"away\":" + number(total(event::away)) + '}');
  add("steals", "{\"near\":" + number(total(event::steal_near)) + ",\"far\":" + number(total(event::steal_far)) + '}');
  add("mailbox", number(total(event::mailbox)));
  add("shared_queue", number(total(event::shared_queue)));
  add("revokes", number(total(event::revoke)));
  add("bypasses", number(total(event::bypass)));
  add("wakeups", number(total(event::wakeup)));
  add("threads_in", threads_of(r));
  add("homes", homes_of(r));
  add("bytes_by_node", pages_of(r));
  return text + "}\n";
}

void write_line(const std::string& text, const char* path) noexcept {
  const bool to_stderr = std::strcmp(path, "stderr") == 0;
  const platform::opened_output out = to_stderr ? platform::opened_output{STDERR_FILENO, nullptr, 0}
                                                : platform::open_output(path, platform::output_mode::append);
  const platform::owned_file closed_at_end(to_stderr ? -1 : out.file);
  const char* problem = out.problem;
  if (problem == nullptr && !platform::write_whole(out.file, text)) problem = std::strerror(errno);
  if (problem != nullptr) {
    platform::warn("HOMING_REPORT=%s cannot be written: %s", platform::printable(path).c_str(), problem);
  }
}

}  // namespace

void write_report(const report& r, const char* path) noexcept {
  try {
    write_line(line_of(r), path);
  } catch (const std::bad_alloc&) {
    platform::warn("HOMING_REPORT=%s: no memory to write it", platform::printable(path).c_str());
  }
}

}  // namespace homing::observe
