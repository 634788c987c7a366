/** Sums that stay in registers while several taps stand one behind the other. */
#ifndef TINYRT_HOLD_H
#define TINYRT_HOLD_H

#include "tinyrt_types.h"

/** Stands behind a tap: the sums are complete here, and loads of what follows stay behind.
 * Compilers for cores with many registers would load for all taps first, and sums would leave
 * theirs. */
#if defined(TINYRT_ASM) && defined(__riscv) && !defined(__riscv_32e)
#define TINYRT_HOLD(...) __asm volatile("" : __VA_ARGS__ : : "memory")
#else
#define TINYRT_HOLD(...) (void)0
#endif

#define TINYRT_THREE_SUMS(sum) "+r"(sum##0), "+r"(sum##1), "+r"(sum##2)
#define TINYRT_FOUR_SUMS(sum) TINYRT_THREE_SUMS(sum), "+r"(sum##3)

#endif
