/// homing-lab-names.so, preloaded in the guest by `homing lab run --hot`: says, by marks, what is where in a program's
/// memory, so that addresses can be given names afterwards.
///
/// Notes:   "map PID LOW-HIGH OFFSET PATH" for each mapped file, the heap and the stack, when the program begins and
///          when it ends; "thread PID ID LOW HIGH FRAME FUNCTION" for each thread that it starts. Numbers are
///          hexadecimal.
/// Threads: any; a note is one thread's own.
/// Errors:  what can't be read is not said. On a real machine marks are no-operations.
/// Source:  docs/design/0006-the-lab.md, "Hot lines".
#include <dlfcn.h>
#include <fcntl.h>
#include <homing/lab.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void say(const char* note) {
  char letters[512];
  char* const base = letters + (256 - (reinterpret_cast<std::uintptr_t>(letters) & 255));
  for (int i = 0; i < HOMING_LAB_NOTE_MAX && note[i] != 0; ++i) {
    HOMING_LAB_MARK(HOMING_LAB_LETTER, base + static_cast<unsigned char>(note[i]));
  }
  HOMING_LAB_MARK(HOMING_LAB_NOTE, base);
}

/// A line of /proc/self/maps: LOW-HIGH RIGHTS OFFSET DEVICE INODE PATH. What has no path says nothing.
void say_mapping(char* line) {
  char* path = line;
  for (int field = 0; field != 5; ++field) {
    path += std::strcspn(path, " ");
    path += std::strspn(path, " ");
  }
  if (*path == 0) return;
  unsigned long low = 0, high = 0, offset = 0;
  if (std::sscanf(line, "%lx-%lx %*s %lx", &low, &high, &offset) != 3) return;
  char note[HOMING_LAB_NOTE_MAX + 1];
  std::snprintf(note, sizeof note, "map %x %lx-%lx %lx %s", static_cast<unsigned>(::getpid()), low, high, offset, path);
  say(note);
}

void say_mappings() {
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[8192];
  std::size_t held = 0;
  for (;;) {
    const ssize_t got = ::read(file, text + held, sizeof text - 1 - held);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    text[held] = 0;
    char* line = text;
    while (char* const end = std::strchr(line, '\n')) {
      *end = 0;
      say_mapping(line);
      line = end + 1;
    }
    held -= static_cast<std::size_t>(line - text);
    std::memmove(text, line, held);
    if (held == sizeof text - 1) held = 0;  // a line that long is none of the kernel's
  }
  ::close(file);
}

void say_thread(void* (*function)(void*), const void* frame) {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (::pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    char note[160];
    std::snprintf(note, sizeof note, "thread %x %lx %lx %lx %lx %lx", static_cast<unsigned>(::getpid()),
                  ::syscall(SYS_gettid), reinterpret_cast<unsigned long>(low),
                  reinterpret_cast<unsigned long>(low) + bytes, reinterpret_cast<unsigned long>(frame),
                  reinterpret_cast<unsigned long>(function));
    say(note);
  }
  ::pthread_attr_destroy(&attributes);
}

struct beginning {
  void* (*function)(void*);
  void* argument;
};

void* begin_thread(void* given) {
  const beginning begin = *static_cast<beginning*>(given);
  std::free(given);
  say_thread(begin.function, __builtin_frame_address(0));
  return begin.function(begin.argument);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void begin() { say_mappings(); }
[[gnu::destructor]] void end() { say_mappings(); }

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                  void* (*function)(void*), void* argument) noexcept {
  static auto* const real = next<decltype(pthread_create)>("pthread_create");
  auto* const given = static_cast<beginning*>(std::malloc(sizeof(beginning)));
  if (given == nullptr) return real(thread, attributes, function, argument);
  *given = {function, argument};
  const int error = real(thread, attributes, begin_thread, given);
  if (error != 0) std::free(given);
  return error;
}

// Programs that end past the destructors.
[[gnu::visibility("default"), noreturn]] void _exit(int status) noexcept {
  say_mappings();
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
[[gnu::visibility("default"), noreturn]] void _Exit(int status) noexcept { _exit(status); }

}  // extern "C"
