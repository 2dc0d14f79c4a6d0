/// The instructions of probes on x86-64: exactly these, whatever the compiler would make of C++.
#pragma once

#include <cstdint>

namespace homing::lab::probes::instructions {

inline void pause() { __builtin_ia32_pause(); }

inline void load(const char* at) { __asm__ volatile("mov (%0), %%rax" : : "r"(at) : "rax", "memory"); }

/// One word of each of eight lines; returns the last.
inline std::uint64_t load_8_lines(const char* data) {
  std::uint64_t last = 0;
  __asm__ volatile(
      "mov (%1), %%rax\n mov 64(%1), %%rax\n mov 128(%1), %%rax\n mov 192(%1), %%rax\n"
      "mov 256(%1), %%rax\n mov 320(%1), %%rax\n mov 384(%1), %%rax\n mov 448(%1), %0\n"
      : "=r"(last)
      : "r"(data)
      : "rax", "memory");
  return last;
}

inline void store_8_lines(char* data) {
  __asm__ volatile(
      "mov %0, (%0)\n mov %0, 64(%0)\n mov %0, 128(%0)\n mov %0, 192(%0)\n"
      "mov %0, 256(%0)\n mov %0, 320(%0)\n mov %0, 384(%0)\n mov %0, 448(%0)\n"
      :
      : "r"(data)
      : "memory");
}

/// All of two lines, past the caches.
inline void store_2_lines_around(char* data) {
  __asm__ volatile(
      "movntdq %%xmm0, (%0)\n movntdq %%xmm0, 16(%0)\n movntdq %%xmm0, 32(%0)\n movntdq %%xmm0, 48(%0)\n"
      "movntdq %%xmm0, 64(%0)\n movntdq %%xmm0, 80(%0)\n movntdq %%xmm0, 96(%0)\n movntdq %%xmm0, 112(%0)\n"
      :
      : "r"(data)
      : "memory");
}

/// Eight pointers, each where the one before leads.
inline const char* follow_8(const char* at) {
  __asm__ volatile(
      "mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n"
      "mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n mov (%0), %0\n"
      : "+r"(at)
      :
      : "memory");
  return at;
}

/// 40 additions of one, each to the result of the one before.
inline void add_40(unsigned long& x) { __asm__ volatile(".rept 40\n lea 1(%0), %0\n .endr" : "+r"(x)); }

/// 16 pairs of a multiplication and an addition, each of the result of the one before.
inline void chain_16(double& x, double by) {
  __asm__ volatile(".rept 16\n mulsd %1, %0\n addsd %1, %0\n .endr" : "+x"(x) : "x"(by));
}

/// 16 such pairs in eight chains.
inline void chains_16(double by) {
  __asm__ volatile(
      ".rept 2\n mulsd %0, %%xmm8\n mulsd %0, %%xmm9\n mulsd %0, %%xmm10\n mulsd %0, %%xmm11\n"
      "mulsd %0, %%xmm12\n mulsd %0, %%xmm13\n mulsd %0, %%xmm14\n mulsd %0, %%xmm15\n"
      "addsd %0, %%xmm8\n addsd %0, %%xmm9\n addsd %0, %%xmm10\n addsd %0, %%xmm11\n"
      "addsd %0, %%xmm12\n addsd %0, %%xmm13\n addsd %0, %%xmm14\n addsd %0, %%xmm15\n .endr"
      :
      : "x"(by)
      : "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

}  // namespace homing::lab::probes::instructions
