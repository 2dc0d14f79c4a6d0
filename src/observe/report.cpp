#include "observe/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "platform/env.hpp"

namespace homing::observe {

void write_report(const report& r, const char* path) noexcept {
  const auto total = [&](event e) { return r.totals[static_cast<std::size_t>(e)]; };
  char text[1024];
  const int length = std::snprintf(
      text, sizeof text,
      "{\"homing\":\"%s\",\"domains\":%u,\"virtual\":%s,\"threads\":%u,\"tasks\":{\"executed\":%" PRIu64
      ",\"home\":%" PRIu64 ",\"away\":%" PRIu64 "},\"steals\":{\"near\":%" PRIu64 ",\"far\":%" PRIu64
      "},\"mailbox\":%" PRIu64 ",\"shared_queue\":%" PRIu64 ",\"revokes\":%" PRIu64 ",\"bypasses\":%" PRIu64
      ",\"wakeups\":%" PRIu64 "}\n",
      r.version, r.domains, r.made_up ? "true" : "false", r.threads, total(event::home) + total(event::away),
      total(event::home), total(event::away), total(event::steal_near), total(event::steal_far), total(event::mailbox),
      total(event::shared_queue), total(event::revoke), total(event::bypass), total(event::wakeup));
  const bool to_stderr = std::strcmp(path, "stderr") == 0;
  const int file = to_stderr ? STDERR_FILENO : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) {
    platform::warn("HOMING_REPORT=%s cannot be written: %s", platform::printable(path).c_str(), std::strerror(errno));
    return;
  }
  const auto wanted = static_cast<ssize_t>(length);
  if (write(file, text, static_cast<std::size_t>(length)) != wanted) {
    platform::warn("HOMING_REPORT=%s cannot be written: %s", platform::printable(path).c_str(), std::strerror(errno));
  }
  if (!to_stderr) {
    close(file);
  }
}

}  // namespace homing::observe
