/// Reads a thread's own variable anew: where a stack has gone on on another thread, that thread's.
///
/// Compilers take the address of a thread_local for constant within a function, with all that is inlined there. But a
/// branch or task that suspends may come back on another thread. A read by an address from before is of the thread that
/// was left, in a race with it. Clang keeps such addresses; g++ on x86-64 keeps offsets only, by luck. Here the address
/// is not the compiler's to know, and the read costs what an ordinary one does.
/// Protocol: docs/protocols/fork_lane.md [F7].
#pragma once

#if defined(__x86_64__) && defined(__LP64__) && defined(__ELF__)

/// value = variable: a pointer of the initial-exec model, by its name and by its symbol.
#define HOMING_READ_ANEW(value, variable, symbol)                                  \
  asm volatile("{movq " symbol "@gottpoff(%%rip), %0|mov %0, QWORD PTR " symbol    \
               "@gottpoff[rip]}\n\t{movq %%fs:(%0), %0|mov %0, QWORD PTR fs:[%0]}" \
               : "=r"(value))

#elif defined(__aarch64__) && defined(__LP64__) && defined(__ELF__)

#define HOMING_READ_ANEW(value, variable, symbol)                                        \
  do {                                                                                   \
    void* thread_of_now;                                                                 \
    asm volatile("adrp %0, :gottprel:" symbol "\n\tldr %0, [%0, #:gottprel_lo12:" symbol \
                 "]\n\tmrs %1, tpidr_el0\n\tldr %0, [%1, %0]"                            \
                 : "=&r"(value), "=&r"(thread_of_now));                                  \
  } while (false)

#else

#define HOMING_READ_ANEW(value, variable, symbol) \
  (value) = []() __attribute__((noinline)) {      \
    asm volatile("" ::: "memory");                \
    return variable;                              \
  }                                               \
  ()

#endif
