/// An object to preload that makes the n-th call of one kind fail, or all from the n-th on: tests/faults/README.md.
///
/// HOMING_FAULT=KIND:N:once or KIND:N:on says which; KIND:0:once counts only. HOMING_FAULT_FILE is where the counts go,
/// and what failed, with a backtrace as module and offset: written as it happens, whatever end the program takes.
///
/// Which calls count: all threads' and all callers', but for allocations of hwloc, of the loader, and of threads that
/// the program has exempted (faults.hpp). Before main(), only allocations of our two libraries.
/// Ownership: none of our code is in here, and nothing of it is linked into the libraries: they are what is shipped.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <linux/futex.h>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

enum kind : unsigned {
  memory,
  map,
  protect,
  thread,
  futex,
  futex_interrupted,
  membarrier,
  set_affinity,
  get_affinity,
  open_system,
  place_pages,
  kind_count
};
struct kind_facts {
  const char* name;
  int error_number;
};
// The errors that the kernel or a sandbox gives.
constexpr kind_facts kinds[kind_count] = {
    {"memory", ENOMEM},     {"mmap", ENOMEM},       {"mprotect", ENOMEM},  {"thread", EAGAIN},
    {"futex", ENOSYS},      {"futex-eintr", EINTR}, {"membarrier", EPERM}, {"setaffinity", EPERM},
    {"getaffinity", EPERM}, {"open", EACCES},       {"place", EPERM},
};

/// What the runner reads. Mapped from the file, so that it is there after any end.
struct record {
  std::atomic<std::uint64_t> calls[kind_count];
  std::atomic<std::uint64_t> failed;
  char where[4096];  ///< backtrace of the first call that failed
};

record own_record;
record* book = &own_record;
unsigned wanted_kind = kind_count;
std::uint64_t wanted_call = 0;
bool from_then_on = false;
std::atomic<bool> begun{false};
thread_local int exempt __attribute__((tls_model("initial-exec"))) = 0;
thread_local int exempt_from_memory __attribute__((tls_model("initial-exec"))) = 0;
thread_local const void* new_called_from __attribute__((tls_model("initial-exec"))) = nullptr;

struct range {
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
  [[nodiscard]] bool has(const void* at) const {
    const auto a = reinterpret_cast<std::uintptr_t>(at);
    return a >= first && a < last;
  }
};
range tbb_library;
range homing_library;
range hwloc_library;
range loader;

int note_module(dl_phdr_info* info, std::size_t, void*) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  range* const to = std::strncmp(name, "libtbb.so", 9) == 0       ? &tbb_library
                    : std::strncmp(name, "libhoming.so", 12) == 0 ? &homing_library
                    : std::strncmp(name, "libhwloc.so", 11) == 0  ? &hwloc_library
                    : std::strncmp(name, "ld-linux", 8) == 0      ? &loader
                                                                  : nullptr;
  if (to == nullptr) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0) {
      *to = {info->dlpi_addr + p.p_vaddr, info->dlpi_addr + p.p_vaddr + p.p_memsz};
    }
  }
  return 0;
}

/// The library's own, looked up once or by several threads at once. Not a function's static variable: whoever waits for
/// its first value does so by futex(2), which may be refused here, and then waits for ever.
template <auto Ours>
auto next(const char* name) {
  static constinit std::atomic<void*> known{nullptr};
  void* found = known.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = ::dlsym(RTLD_NEXT, name);
    known.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<decltype(Ours)>(found);
}

bool is_set_up = false;

void open_book(const char* path) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(static_cast<int>(file), sizeof(record)) != 0) return;
  void* const at = reinterpret_cast<void*>(
      ::syscall(SYS_mmap, nullptr, sizeof(record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  if (at != MAP_FAILED) book = static_cast<record*>(at);
  ::syscall(SYS_close, file);
}

// At the first call of any kind, which comes while the program is loaded: one thread.
void set_up() {
  is_set_up = true;
  ++exempt;
  ::dl_iterate_phdr(&note_module, nullptr);
  if (const char* path = std::getenv("HOMING_FAULT_FILE")) open_book(path);
  if (const char* spec = std::getenv("HOMING_FAULT")) {
    const char* colon = std::strchr(spec, ':');
    for (unsigned k = 0; colon != nullptr && k < kind_count; ++k) {
      const auto length = static_cast<std::size_t>(colon - spec);
      if (std::strlen(kinds[k].name) == length && std::strncmp(spec, kinds[k].name, length) == 0) {
        char* end = nullptr;
        wanted_call = std::strtoull(colon + 1, &end, 10);
        from_then_on = std::strcmp(end, ":on") == 0;
        wanted_kind = k;
      }
    }
    if (wanted_kind == kind_count) {
      std::fprintf(stderr, "inject: HOMING_FAULT=%s: expected KIND:N:once or KIND:N:on\n", spec);
      std::_Exit(97);
    }
  }
  void* warm[2];
  ::backtrace(warm, 2);  // loads what it needs now, not inside a failing allocation
  --exempt;
}

void note_where() {
  ++exempt;
  void* frames[48];
  const int count = ::backtrace(frames, 48);
  std::size_t length = 0;
  for (int i = 2; i < count && length < sizeof(book->where) - 300; ++i) {
    Dl_info about{};
    const bool known = ::dladdr(frames[i], &about) != 0 && about.dli_fname != nullptr;
    const auto offset = reinterpret_cast<std::uintptr_t>(frames[i]) -
                        (known ? reinterpret_cast<std::uintptr_t>(about.dli_fbase) : 0) - 1;
    length += static_cast<std::size_t>(std::snprintf(book->where + length, 256, "%.200s+0x%zx\n",
                                                     known ? about.dli_fname : "?", static_cast<std::size_t>(offset)));
  }
  --exempt;
}

/// Counts a call; true if it is to fail.
[[gnu::noinline]] bool fails(kind k) {
  if (!is_set_up) set_up();
  if (exempt > 0) return false;
  const std::uint64_t number = book->calls[k].fetch_add(1, std::memory_order_relaxed) + 1;
  if (k != wanted_kind || wanted_call == 0) return false;
  if (from_then_on ? number < wanted_call : number != wanted_call) return false;
  if (book->failed.fetch_add(1, std::memory_order_relaxed) == 0) note_where();
  errno = kinds[k].error_number;
  return true;
}

[[gnu::noinline]] bool allocation_fails(const void* caller) {
  if (!is_set_up) set_up();
  if (new_called_from != nullptr) caller = new_called_from;
  if (exempt_from_memory > 0 || hwloc_library.has(caller) || loader.has(caller)) return false;
  const bool is_ours = tbb_library.has(caller) || homing_library.has(caller);
  if (!is_ours && !begun.load(std::memory_order_relaxed)) return false;
  return fails(memory);
}

bool is_of_the_system(const char* path) {
  if (path == nullptr) return false;
  if (*path == '/') ++path;
  return std::strncmp(path, "proc/", 5) == 0 || std::strncmp(path, "sys/", 4) == 0;
}

long raw_syscall(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

bool system_call_fails(long number, long operation) {
  switch (number) {
    case SYS_futex:
      return fails(futex) || ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT && fails(futex_interrupted));
    case SYS_membarrier:
      return fails(membarrier);
    case SYS_sched_setaffinity:
      return fails(set_affinity);
    case SYS_sched_getaffinity:
      return fails(get_affinity);
    case SYS_mbind:
    case SYS_move_pages:
    case SYS_set_mempolicy:
    case SYS_get_mempolicy:
      return fails(place_pages);
    default:
      return false;
  }
}

/// Who calls operator new counts as the caller of the malloc in it.
class in_operator_new {
 public:
  explicit in_operator_new(const void* caller) { new_called_from = caller; }
  ~in_operator_new() { new_called_from = nullptr; }
  in_operator_new(const in_operator_new&) = delete;
  in_operator_new& operator=(const in_operator_new&) = delete;
};

}  // namespace

#define HOMING_PRELOADED extern "C" __attribute__((visibility("default")))

// --- hwloc: its own allocations are exempt, with those that the C library makes for it. It does not check them all.
struct hwloc_topology;
namespace {
class in_hwloc {
 public:
  in_hwloc() { ++exempt_from_memory; }
  ~in_hwloc() { --exempt_from_memory; }
  in_hwloc(const in_hwloc&) = delete;
  in_hwloc& operator=(const in_hwloc&) = delete;
};
}  // namespace
HOMING_PRELOADED int hwloc_topology_init(hwloc_topology** made) {
  const in_hwloc scope;
  auto* const real = next<&hwloc_topology_init>("hwloc_topology_init");
  return real(made);
}
HOMING_PRELOADED int hwloc_topology_set_synthetic(hwloc_topology* of, const char* text) {
  const in_hwloc scope;
  auto* const real = next<&hwloc_topology_set_synthetic>("hwloc_topology_set_synthetic");
  return real(of, text);
}
HOMING_PRELOADED int hwloc_topology_set_components(hwloc_topology* of, unsigned long flags, const char* name) {
  const in_hwloc scope;
  auto* const real = next<&hwloc_topology_set_components>("hwloc_topology_set_components");
  return real(of, flags, name);
}
HOMING_PRELOADED int hwloc_topology_load(hwloc_topology* of) {
  const in_hwloc scope;
  auto* const real = next<&hwloc_topology_load>("hwloc_topology_load");
  return real(of);
}

// --- for faults.hpp
HOMING_PRELOADED void homing_fault_begin() { begun.store(true, std::memory_order_relaxed); }
HOMING_PRELOADED void homing_fault_exempt(int more) { exempt += more; }
HOMING_PRELOADED int homing_fault_is_lasting() { return from_then_on ? 1 : 0; }

// --- allocation
HOMING_PRELOADED void* malloc(std::size_t bytes) {
  return allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(bytes);
}
HOMING_PRELOADED void* calloc(std::size_t count, std::size_t bytes) {
  return allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
HOMING_PRELOADED void* realloc(void* block, std::size_t bytes) {
  return allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(block, bytes);
}
HOMING_PRELOADED void* memalign(std::size_t alignment, std::size_t bytes) {
  return allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
HOMING_PRELOADED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
HOMING_PRELOADED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  const int kept = errno;
  void* const got = allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
  errno = kept;
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}
HOMING_PRELOADED void* _Znwm(std::size_t bytes) {
  const in_operator_new scope(__builtin_return_address(0));
  auto* const real = next<&_Znwm>("_Znwm");
  return real(bytes);
}
HOMING_PRELOADED void* _Znam(std::size_t bytes) {
  const in_operator_new scope(__builtin_return_address(0));
  auto* const real = next<&_Znwm>("_Znwm");
  return real(bytes);
}
HOMING_PRELOADED void* _ZnwmSt11align_val_t(std::size_t bytes, std::size_t alignment) {
  const in_operator_new scope(__builtin_return_address(0));
  auto* const real = next<&_ZnwmSt11align_val_t>("_ZnwmSt11align_val_t");
  return real(bytes, alignment);
}
HOMING_PRELOADED void* _ZnamSt11align_val_t(std::size_t bytes, std::size_t alignment) {
  const in_operator_new scope(__builtin_return_address(0));
  auto* const real = next<&_ZnwmSt11align_val_t>("_ZnwmSt11align_val_t");
  return real(bytes, alignment);
}

// --- memory maps
HOMING_PRELOADED void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (fails(map)) return MAP_FAILED;
  return reinterpret_cast<void*>(
      raw_syscall(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes), protection, flags, file, offset));
}
HOMING_PRELOADED void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return mmap(at, bytes, protection, flags, file, offset);
}
HOMING_PRELOADED int mprotect(void* at, std::size_t bytes, int protection) noexcept {
  if (fails(protect)) return -1;
  return static_cast<int>(
      raw_syscall(SYS_mprotect, reinterpret_cast<long>(at), static_cast<long>(bytes), protection, 0, 0, 0));
}
HOMING_PRELOADED int madvise(void* at, std::size_t bytes, int advice) noexcept {
  if (fails(protect)) return -1;
  return static_cast<int>(
      raw_syscall(SYS_madvise, reinterpret_cast<long>(at), static_cast<long>(bytes), advice, 0, 0, 0));
}

// --- threads
HOMING_PRELOADED int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*entry)(void*),
                                    void* argument) noexcept {
  auto* const real = next<&pthread_create>("pthread_create");
  return fails(thread) ? EAGAIN : real(made, attributes, entry, argument);
}

// --- system calls, by number and by the C library's names
HOMING_PRELOADED long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  const long a = va_arg(rest, long);
  const long b = va_arg(rest, long);
  const long c = va_arg(rest, long);
  const long d = va_arg(rest, long);
  const long e = va_arg(rest, long);
  const long f = va_arg(rest, long);
  va_end(rest);
  if (system_call_fails(number, b)) return -1;
  return raw_syscall(number, a, b, c, d, e, f);
}
HOMING_PRELOADED int sched_setaffinity(pid_t of, std::size_t bytes, const cpu_set_t* mask) noexcept {
  if (fails(set_affinity)) return -1;
  return static_cast<int>(
      raw_syscall(SYS_sched_setaffinity, of, static_cast<long>(bytes), reinterpret_cast<long>(mask), 0, 0, 0));
}
HOMING_PRELOADED int sched_getaffinity(pid_t of, std::size_t bytes, cpu_set_t* mask) noexcept {
  if (fails(get_affinity)) return -1;
  const long got =
      raw_syscall(SYS_sched_getaffinity, of, static_cast<long>(bytes), reinterpret_cast<long>(mask), 0, 0, 0);
  if (got < 0) return -1;
  std::memset(reinterpret_cast<char*>(mask) + got, 0, bytes - static_cast<std::size_t>(got));
  return 0;
}
HOMING_PRELOADED int pthread_setaffinity_np(pthread_t of, std::size_t bytes, const cpu_set_t* mask) noexcept {
  auto* const real = next<&pthread_setaffinity_np>("pthread_setaffinity_np");
  return fails(set_affinity) ? EPERM : real(of, bytes, mask);
}
HOMING_PRELOADED int pthread_getaffinity_np(pthread_t of, std::size_t bytes, cpu_set_t* mask) noexcept {
  auto* const real = next<&pthread_getaffinity_np>("pthread_getaffinity_np");
  return fails(get_affinity) ? EPERM : real(of, bytes, mask);
}

// --- files of the system
HOMING_PRELOADED int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  if (is_of_the_system(path) && fails(open_system)) return -1;
  return static_cast<int>(raw_syscall(SYS_openat, folder, reinterpret_cast<long>(path), flags, mode, 0, 0));
}
HOMING_PRELOADED int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return openat(folder, path, flags, mode);
}
HOMING_PRELOADED int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}
HOMING_PRELOADED int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}
HOMING_PRELOADED int __open_2(const char* path, int flags) { return openat(AT_FDCWD, path, flags, 0); }
HOMING_PRELOADED int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags, 0); }
HOMING_PRELOADED FILE* fopen(const char* path, const char* mode) {
  auto* const real = next<&fopen>("fopen");
  return is_of_the_system(path) && fails(open_system) ? nullptr : real(path, mode);
}
HOMING_PRELOADED FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }
HOMING_PRELOADED DIR* opendir(const char* path) {
  auto* const real = next<&opendir>("opendir");
  return is_of_the_system(path) && fails(open_system) ? nullptr : real(path);
}
