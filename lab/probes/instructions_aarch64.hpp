/// The instructions of probes on AArch64: what instructions_x86_64.hpp has, with the same counts.
#pragma once

#include <cstdint>

namespace homing::lab::probes::instructions {

inline void pause() { __asm__ volatile("yield" ::: "memory"); }

inline void load(const char* at) { __asm__ volatile("ldr x9, [%0]" : : "r"(at) : "x9", "memory"); }

/// One word of each of eight lines; returns the last.
inline std::uint64_t load_8_lines(const char* data) {
  std::uint64_t last = 0;
  __asm__ volatile(
      "ldr x9, [%1]\n ldr x9, [%1, 64]\n ldr x9, [%1, 128]\n ldr x9, [%1, 192]\n"
      "ldr x9, [%1, 256]\n ldr x9, [%1, 320]\n ldr x9, [%1, 384]\n ldr %0, [%1, 448]\n"
      : "=&r"(last)
      : "r"(data)
      : "x9", "memory");
  return last;
}

inline void store_8_lines(char* data) {
  __asm__ volatile(
      "str %0, [%0]\n str %0, [%0, 64]\n str %0, [%0, 128]\n str %0, [%0, 192]\n"
      "str %0, [%0, 256]\n str %0, [%0, 320]\n str %0, [%0, 384]\n str %0, [%0, 448]\n"
      :
      : "r"(data)
      : "memory");
}

/// All of two lines, with the hint that nobody needs them soon.
inline void store_2_lines_around(char* data) {
  __asm__ volatile("stnp q0, q0, [%0]\n stnp q0, q0, [%0, 32]\n stnp q0, q0, [%0, 64]\n stnp q0, q0, [%0, 96]\n"
                   :
                   : "r"(data)
                   : "memory");
}

/// Eight pointers, each where the one before leads.
inline const char* follow_8(const char* at) {
  __asm__ volatile(
      "ldr %0, [%0]\n ldr %0, [%0]\n ldr %0, [%0]\n ldr %0, [%0]\n"
      "ldr %0, [%0]\n ldr %0, [%0]\n ldr %0, [%0]\n ldr %0, [%0]\n"
      : "+r"(at)
      :
      : "memory");
  return at;
}

/// 40 additions of one, each to the result of the one before.
inline void add_40(unsigned long& x) { __asm__ volatile(".rept 40\n add %0, %0, 1\n .endr" : "+r"(x)); }

/// 16 pairs of a multiplication and an addition, each of the result of the one before.
inline void chain_16(double& x, double by) {
  __asm__ volatile(".rept 16\n fmul %d0, %d0, %d1\n fadd %d0, %d0, %d1\n .endr" : "+w"(x) : "w"(by));
}

/// 16 such pairs in eight chains.
inline void chains_16(double by) {
  __asm__ volatile(
      ".rept 2\n fmul d16, d16, %d0\n fmul d17, d17, %d0\n fmul d18, d18, %d0\n fmul d19, d19, %d0\n"
      "fmul d20, d20, %d0\n fmul d21, d21, %d0\n fmul d22, d22, %d0\n fmul d23, d23, %d0\n"
      "fadd d16, d16, %d0\n fadd d17, d17, %d0\n fadd d18, d18, %d0\n fadd d19, d19, %d0\n"
      "fadd d20, d20, %d0\n fadd d21, d21, %d0\n fadd d22, d22, %d0\n fadd d23, d23, %d0\n .endr"
      :
      : "w"(by)
      : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23");
}

}  // namespace homing::lab::probes::instructions
