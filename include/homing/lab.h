/* Marks for the lab, in C: regions of a program that `homing lab` counts apart. Next to free on real machines: for each
 * letter of the label, and once more, a byte of the caller's own stack is loaded. What a mark is made of:
 * docs/design/0006-the-lab.md.
 *
 *   HOMING_LAB_BEGIN("solve");
 *   ...
 *   HOMING_LAB_END("solve");
 *
 * Labels:  up to 63 bytes of printable ASCII; longer ones are cut. A region may be entered many times, and by several
 *          threads at once: it is open from the first begin to the last end.
 * Threads: any, at any time; nothing is shared. Nothing fails and nothing allocates. Other processors than x86-64
 *          and AArch64: no-ops.
 */
#pragma once

#define HOMING_LAB_LABEL_MAX 63

/* The operations: the lowest byte of a mark's displacement. */
#define HOMING_LAB_LETTER 1      /* the next letter of this thread's label */
#define HOMING_LAB_OPEN 2        /* the label is complete: open the region of that name */
#define HOMING_LAB_CLOSE 3       /* the label is complete: close it */
#define HOMING_LAB_LEARN_PAGE 4  /* calibration: this page is on the Linux node that its offset says */
#define HOMING_LAB_CHECK_PAGE 5  /* calibration: so is this one; compare with what was learnt */
#define HOMING_LAB_CALIBRATED 6  /* calibration: that was all */
#define HOMING_LAB_CLOCK 7       /* write the virtual time of this CPU, in ns, into the word that the mark loads from */
#define HOMING_LAB_NOTE 8        /* the letters are a note of what is where in this program's memory, up to NOTE_MAX */
#define HOMING_LAB_NOTE_MAX 1023

/* The clock's memory, which guest and plugin share: a header (magic; calendar time of its zero, in s), then words of 8
 * bytes. It is mapped at a multiple of its size. docs/protocols/lab_clock.md */
#define HOMING_LAB_CLOCK_BYTES (2L << 20)
#define HOMING_LAB_CLOCK_HEADER_BYTES 64L
#define HOMING_LAB_CLOCK_MAGIC 0x314b434f4c43484cUL /* "LHCLOCK1" */

#ifdef __cplusplus /* which may warn of C's casts */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#if defined(__x86_64__)
/* movzbl DISPLACEMENT(%rax), %eax, whose displacement is 0x1a4f4800 + operation, so that it loads the byte at `address`. */
#define HOMING_LAB_MARK(operation, address)                                                      \
  do {                                                                                           \
    const char* homing_lab_at_ = (const char*)(address) - 0x1a4f4800L - (operation);             \
    __asm__ volatile(".byte 0x0f, 0xb6, 0x80, %c1, 0x48, 0x4f, 0x1a" /* one instruction */       \
                     : "+a"(homing_lab_at_)                                                      \
                     : "i"(operation)                                                            \
                     : "memory");                                                                \
  } while (0)
#elif defined(__aarch64__)
/* ldrb wzr, [xN, #0xa40 + operation]: loads the byte at `address`, and no register takes it. */
#define HOMING_LAB_MARK(operation, address)                                                      \
  do {                                                                                           \
    const char* homing_lab_at_ = (const char*)(address) - 0xa40L - (operation);                  \
    __asm__ volatile("ldrb wzr, [%0, %1]"                                                        \
                     :                                                                           \
                     : "r"(homing_lab_at_), "i"(0xa40 + (operation))                             \
                     : "memory");                                                                \
  } while (0)
#else
#define HOMING_LAB_MARK(operation, address) ((void)(address))
#endif

/* The address of a mark's load says who (all but the lowest byte) and which letter (the lowest byte). */
#define HOMING_LAB_SAY_(operation, label)                                                    \
  do {                                                                                       \
    char homing_lab_letters_[512];                                                           \
    char* homing_lab_base_ = homing_lab_letters_ + (256 - ((unsigned long)homing_lab_letters_ & 255UL)); \
    const char* homing_lab_label_ = (label);                                                 \
    for (int homing_lab_i_ = 0; homing_lab_i_ < HOMING_LAB_LABEL_MAX && homing_lab_label_[homing_lab_i_]; ++homing_lab_i_) \
      HOMING_LAB_MARK(HOMING_LAB_LETTER, homing_lab_base_ + (unsigned char)homing_lab_label_[homing_lab_i_]); \
    HOMING_LAB_MARK(operation, homing_lab_base_);                                            \
  } while (0)

/* Two functions, so that a label costs one frame and no thread-local memory. */
static inline void homing_lab_begin(const char* label) { HOMING_LAB_SAY_(HOMING_LAB_OPEN, label); }
static inline void homing_lab_end(const char* label) { HOMING_LAB_SAY_(HOMING_LAB_CLOSE, label); }

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#define HOMING_LAB_BEGIN(label) homing_lab_begin(label)
#define HOMING_LAB_END(label) homing_lab_end(label)
