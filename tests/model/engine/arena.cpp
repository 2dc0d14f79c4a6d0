#include "engine/arena.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/execution.hpp"

namespace homing::model {

bool memory_is_out = false;

}  // namespace homing::model

namespace homing::model::arena {
namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 22U;
constexpr std::size_t default_alignment = 16;

std::byte* base = nullptr;
std::size_t used[threads_max] = {};

}  // namespace

void begin() noexcept {
  if (base == nullptr) {
    void* const mapping = ::mmap(nullptr, part_bytes * threads_max, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
      std::perror("model: no memory for the models' heap");
      std::abort();
    }
    base = static_cast<std::byte*>(mapping);
  }
  for (std::size_t t = 0; t < threads_max; ++t) {
    std::memset(base + t * part_bytes, 0, used[t]);
    used[t] = 0;
  }
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  std::size_t& end = used[running->current()];
  const std::size_t start = (end + alignment - 1) / alignment * alignment;
  if (start + bytes > part_bytes) {
    std::fputs("model: a thread of this model allocates more than 4 MiB in one execution; make it smaller\n", stderr);
    std::abort();
  }
  end = start + (bytes == 0 ? 1 : bytes);
  return base + running->current() * part_bytes + start;
}

bool contains(const void* address) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  return base != nullptr && at >= base && at < base + part_bytes * threads_max;
}

namespace {

void* get(std::size_t bytes, std::size_t alignment) noexcept {
  if (running != nullptr) {
    return allocate(bytes, alignment);
  }
  return alignment <= default_alignment
             ? std::malloc(bytes == 0 ? 1 : bytes)
             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void give_back(void* memory, std::size_t bytes) noexcept {
  if (!contains(memory)) {
    std::free(memory);
  } else {
    std::memset(memory, freed_byte, bytes);
  }
}

}  // namespace
}  // namespace homing::model::arena

extern "C" {
int __real_mprotect(void* at, std::size_t bytes, int protection) noexcept;
int __real_munmap(void* at, std::size_t bytes) noexcept;
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept;

/// What production code maps in an execution: pages of zeros.
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  constexpr std::size_t page_bytes = 4096;
  return homing::model::running == nullptr ? __real_mmap(at, bytes, protection, flags, file, offset)
                                           : homing::model::arena::allocate(bytes, page_bytes);
}

/// Pages of a model's heap stay as they are: the next execution needs them.
int __wrap_mprotect(void* at, std::size_t bytes, int protection) noexcept {
  return homing::model::arena::contains(at) ? 0 : __real_mprotect(at, bytes, protection);
}
int __wrap_munmap(void* at, std::size_t bytes) noexcept {
  return homing::model::arena::contains(at) ? 0 : __real_munmap(at, bytes);
}
}

// The whole program's: outside of executions they are malloc's.
void* operator new(std::size_t bytes) { return homing::model::arena::get(bytes, 16); }
void* operator new[](std::size_t bytes) { return homing::model::arena::get(bytes, 16); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return homing::model::arena::get(bytes, 16);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return homing::model::memory_is_out ? nullptr : homing::model::arena::get(bytes, 16);
}
void* operator new(std::size_t bytes, std::align_val_t to) {
  return homing::model::arena::get(bytes, static_cast<std::size_t>(to));
}
void* operator new[](std::size_t bytes, std::align_val_t to) {
  return homing::model::arena::get(bytes, static_cast<std::size_t>(to));
}
void operator delete(void* memory) noexcept { homing::model::arena::give_back(memory, 0); }
void operator delete[](void* memory) noexcept { homing::model::arena::give_back(memory, 0); }
void operator delete(void* memory, std::size_t bytes) noexcept { homing::model::arena::give_back(memory, bytes); }
void operator delete[](void* memory, std::size_t bytes) noexcept { homing::model::arena::give_back(memory, bytes); }
void operator delete(void* memory, std::align_val_t /*to*/) noexcept { homing::model::arena::give_back(memory, 0); }
void operator delete[](void* memory, std::align_val_t /*to*/) noexcept { homing::model::arena::give_back(memory, 0); }
void operator delete(void* memory, std::size_t bytes, std::align_val_t /*to*/) noexcept {
  homing::model::arena::give_back(memory, bytes);
}
void operator delete[](void* memory, std::size_t bytes, std::align_val_t /*to*/) noexcept {
  homing::model::arena::give_back(memory, bytes);
}
