/// Maps, deals the pages out, and says so once if the kernel would not.
#include "memory/interleaved.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <new>
#include <vector>

#include "platform/memory_policy.hpp"
#include "sync/atomic.hpp"

namespace homing::memory {
namespace {

/// A chunk on its own node is a mapping of its own to the kernel, which allows 65,530 of them in a process by default.
constexpr std::size_t chunks_max = 16384;

void warn_once(const char* reason) noexcept {
  static constinit sync::atomic<bool> warned{false};
  if (!warned.exchange(true, sync::relaxed)) {  // relaxed: only who is first matters
    std::fprintf(stderr,
                 "homing: allocate_numa_interleaved: pages are not placed as asked: %s; using the nodes of the threads "
                 "that touch them first (said once)\n",
                 reason);
  }
}

using platform::id_set;
using platform::node_id;

/// True if dealing pages over the set in ascending order is what dealing them over the list means.
bool is_ascending(std::span<const int> nodes) noexcept {
  return std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) == nodes.end();
}

id_set<node_id> set_of(std::span<const int> nodes) {
  id_set<node_id> set;
  for (const int node : nodes) {
    set.add(static_cast<node_id>(node));
  }
  return set;
}

/// Returns 0 or the errno of the first refusal. Throws std::bad_alloc.
int place(std::byte* memory, std::size_t bytes, std::span<const int> nodes, std::size_t chunk_bytes,
          std::size_t page_bytes) {
  if (chunk_bytes == 0 || (chunk_bytes == page_bytes && is_ascending(nodes))) {
    if (chunk_bytes != 0) {
      // A huge page would make 512 pages of one. Refused by kernels built without huge pages, which is as good.
      static_cast<void>(::madvise(memory, bytes, MADV_NOHUGEPAGE));
    }
    return platform::interleave_untouched(memory, bytes, set_of(nodes));
  }
  for (std::size_t chunk = 0, offset = 0; offset < bytes; ++chunk, offset += chunk_bytes) {
    const int error = platform::interleave_untouched(memory + offset, std::min(chunk_bytes, bytes - offset),
                                                     set_of(nodes.subspan(chunk % nodes.size(), 1)));
    if (error != 0) {
      return error;
    }
  }
  return 0;
}

}  // namespace

void* allocate_interleaved(std::size_t bytes, std::span<const int> nodes, std::size_t chunk_bytes) noexcept {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes == 0 || chunk_bytes % page_bytes != 0 || bytes > SIZE_MAX - page_bytes) {
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  try {
    std::vector<int> wanted;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(wanted), [](int node) { return node >= 0; });
    if (wanted.empty()) {
      for (const node_id node : platform::default_memory_nodes().ids()) {
        wanted.push_back(static_cast<int>(node));
      }
      if (wanted.size() <= 1) {
        return memory;  // one node: everything is where it can only be
      }
    }
    const bool one_mapping = chunk_bytes == 0 || (chunk_bytes == page_bytes && is_ascending(wanted));
    if (!one_mapping && bytes / chunk_bytes > chunks_max) {
      warn_once("too many chunks for one mapping each; larger chunks, or single pages, would do");
      return memory;
    }
    if (const int error = place(static_cast<std::byte*>(memory), bytes, wanted, chunk_bytes, page_bytes); error != 0) {
      warn_once(std::strerror(error));
    }
  } catch (const std::bad_alloc&) {
    ::munmap(memory, bytes);
    errno = ENOMEM;
    return nullptr;
  }
  return memory;
}

void deallocate_interleaved(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr) {
    ::munmap(memory, bytes);
  }
}

}  // namespace homing::memory
