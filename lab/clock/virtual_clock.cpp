/// homing-lab-clock.so, preloaded in the guest: the C library's clocks answer with the virtual time of the CPU that
/// asks.
///
/// Answered:  clock_gettime of the monotonic and the calendar clocks, gettimeofday, timespec_get, time. CPU-time clocks
///            go to the kernel, as does everything that waits until a time.
/// Threads:   any; each has a word of its own in the clock's memory, and never sees its time go back.
/// Errors:    without a clock (on a real machine, or without --virtual-clock) one line on stderr, and the kernel's
///            clocks.
/// Source:    docs/protocols/lab_clock.md.
#include <fcntl.h>
#include <homing/lab.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr const char* device = "/dev/homing-lab-clock";
constexpr std::uint64_t ns_per_s = 1000000000;
constexpr std::uintptr_t words = (HOMING_LAB_CLOCK_BYTES - HOMING_LAB_CLOCK_HEADER_BYTES) / sizeof(std::uint64_t);

char* memory = nullptr;  // set once, before any thread can ask
thread_local volatile std::uint64_t* word_of_thread = nullptr;
thread_local std::uint64_t last_ns = 0;

void complain(const char* why) {
  char line[200] = "homing lab: no virtual clock: ";
  std::strncat(line, why, 80);
  std::strcat(line, "; all times are the host's (homing lab run --virtual-clock)\n");
  (void)!::write(STDERR_FILENO, line, std::strlen(line));
}

/// [LT1] Mapped at a multiple of its size, so that an address says its offset.
char* map_clock() {
  const int file = ::open(device, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  constexpr std::size_t bytes = HOMING_LAB_CLOCK_BYTES;
  void* const room = ::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  char* const at = static_cast<char*>(room) + (bytes - reinterpret_cast<std::uintptr_t>(room) % bytes) % bytes;
  void* const p = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  ::close(file);
  return p == MAP_FAILED ? nullptr : at;
}

const std::uint64_t& header(unsigned word) { return reinterpret_cast<const std::uint64_t*>(memory)[word]; }

[[gnu::constructor]] void begin() {
  memory = map_clock();
  if (memory == nullptr) return complain("/dev/homing-lab-clock is not there");
  if (__atomic_load_n(&header(0), __ATOMIC_ACQUIRE) != HOMING_LAB_CLOCK_MAGIC) {  // [LT2]
    memory = nullptr;
    return complain("the plugin has not begun one");
  }
  // The child's only thread has another id than its parent's, whose memory this is a copy of.
  ::pthread_atfork(nullptr, nullptr, [] { word_of_thread = nullptr; });
}

/// Virtual ns since the calibration; 0 if there is no clock.
std::uint64_t virtual_ns() {
  if (word_of_thread == nullptr) {  // [LT4]
    const auto id = static_cast<std::uintptr_t>(::syscall(SYS_gettid));
    word_of_thread = reinterpret_cast<volatile std::uint64_t*>(memory + HOMING_LAB_CLOCK_HEADER_BYTES) + id % words;
  }
  volatile std::uint64_t* const word = word_of_thread;
  HOMING_LAB_MARK(HOMING_LAB_CLOCK, word);
  const std::uint64_t now = *word;   // [LT3] the answer
  if (now > last_ns) last_ns = now;  // [LT5]
  return last_ns;
}

timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
}

std::uint64_t calendar_ns() { return header(1) * ns_per_s + virtual_ns(); }

}  // namespace

extern "C" {

/// Asked by programs that say where their times are from: 1 if they are virtual.
[[gnu::visibility("default")]] int homing_lab_clock_is_virtual() { return memory != nullptr ? 1 : 0; }

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* result) noexcept {
  if (memory != nullptr) {
    switch (clock) {
      case CLOCK_MONOTONIC:
      case CLOCK_MONOTONIC_RAW:
      case CLOCK_MONOTONIC_COARSE:
      case CLOCK_BOOTTIME:
        *result = to_timespec(virtual_ns());
        return 0;
      case CLOCK_REALTIME:
      case CLOCK_REALTIME_COARSE:
      case CLOCK_TAI:
        *result = to_timespec(calendar_ns());
        return 0;
      default:
        break;
    }
  }
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, result));
}

[[gnu::visibility("default")]] int gettimeofday(timeval* result, void* zone) noexcept {
  if (zone != nullptr) std::memset(zone, 0, sizeof(struct timezone));
  timespec now{};
  const int error = clock_gettime(CLOCK_REALTIME, &now);
  *result = {now.tv_sec, now.tv_nsec / 1000};
  return error;
}

[[gnu::visibility("default")]] int timespec_get(timespec* result, int base) noexcept {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, result) == 0 ? base : 0;
}

[[gnu::visibility("default")]] time_t time(time_t* result) noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
