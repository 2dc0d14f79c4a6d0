/// mbind(2) for fresh ranges, and the files that name the nodes one may use.
#include "platform/memory_policy.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <fstream>
#include <string>
#include <string_view>

#include "platform/files.hpp"

namespace homing::platform {
namespace {

/// The list in the line of `path` that starts with `field`; none if there is no such line or no list in it.
id_set<node_id> read_list(const char* path, std::string_view field) {
  std::ifstream file(path);
  for (std::string line; read_line(file, line);) {
    if (line.compare(0, field.size(), field) == 0) {
      std::string_view list(line);
      list.remove_prefix(field.size());
      while (!list.empty() && (list.front() == '\t' || list.front() == ' ')) {
        list.remove_prefix(1);
      }
      return id_set<node_id>::parse_list(list).value_or(id_set<node_id>());
    }
  }
  return {};
}

}  // namespace

id_set<node_id> default_memory_nodes() {
  return read_list("/proc/self/status", "Mems_allowed_list:") & read_list("/sys/devices/system/node/has_memory", "") &
         read_list("/sys/devices/system/node/has_cpu", "");
}

int interleave_untouched(void* address, std::size_t bytes, const id_set<node_id>& nodes) noexcept {
  const auto mask = nodes.words();
  // The raw call reads one bit less than it is told: bits + 1.
  const unsigned long bit_count = mask.size() * sizeof(unsigned long) * CHAR_BIT + 1;
  return ::syscall(SYS_mbind, address, bytes, MPOL_INTERLEAVE, mask.data(), bit_count, 0U) == 0 ? 0 : errno;
}

}  // namespace homing::platform
