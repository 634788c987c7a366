/** Copies and fills, in words where the core loads and stores them at any address. */
#ifndef TINYRT_COPY_H
#define TINYRT_COPY_H

#include "tinyrt_types.h"

#include <string.h>

#if defined(__arm__) && !defined(__ARM_FEATURE_UNALIGNED) ||                                       \
    defined(__riscv) && !defined(__riscv_misaligned_fast)
#define TINYRT_COPY_BYTES 1
#else
#define TINYRT_COPY_BYTES 4
#endif

/** Copies bytes to [to, end); returns end. */
static inline int8_t *tinyrt_copy(const int8_t *from, const int8_t *end, int8_t *to) {
#if TINYRT_COPY_BYTES > 1
    for (; (end - to) >= TINYRT_COPY_BYTES; to += TINYRT_COPY_BYTES, from += TINYRT_COPY_BYTES) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(to, from, TINYRT_COPY_BYTES);
    }
#endif
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = (int8_t) * (const uint8_t *)from++;
    }
    return to;
}

/** As tinyrt_copy, for a multiple of TINYRT_COPY_BYTES. */
static inline int8_t *tinyrt_copy_steps(const int8_t *from, const int8_t *end, int8_t *to) {
    for (; to != end; to += TINYRT_COPY_BYTES) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(to, from, TINYRT_COPY_BYTES);
        from += TINYRT_COPY_BYTES;
    }
    return to;
}

/** As tinyrt_copy, for a multiple of 16 bytes: fewer instructions. */
static inline void tinyrt_copy_blocks(const int8_t *from, const int8_t *end, int8_t *to) {
#if defined(TINYRT_THUMB_ASSEMBLY) && (__ARM_ARCH_ISA_THUMB == 2) && (TINYRT_COPY_BYTES == 4)
    /* Compilers do not step both pointers by the last load and store. */
    while (to != end) {
        uint32_t a, b, c, d;
        __asm volatile("ldr %[b], [%[from], #4]\n"
                       "ldr %[c], [%[from], #8]\n"
                       "ldr %[d], [%[from], #12]\n"
                       "ldr %[a], [%[from]], #16\n"
                       "str %[b], [%[to], #4]\n"
                       "str %[c], [%[to], #8]\n"
                       "str %[d], [%[to], #12]\n"
                       "str %[a], [%[to]], #16\n"
                       : [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [from] "+r"(from),
                         [to] "+r"(to)
                       :
                       : "memory");
    }
#else
    /* Where words must be aligned, compilers would call memcpy for more than a byte. */
    enum { STEP = (TINYRT_COPY_BYTES == 1) ? 1 : 16 };
    for (; to != end; to += STEP, from += STEP) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(to, from, STEP);
    }
#endif
}

/** As tinyrt_copy, for words: from, to and end are multiples of four. */
static inline void tinyrt_copy_words(const int8_t *from, const int8_t *end, int8_t *to) {
    for (; (end - to) >= 16; to += 16, from += 16) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(TINYRT_ALIGNED(to), TINYRT_ALIGNED(from), 16);
    }
    for (; to != end; to += 4, from += 4) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(TINYRT_ALIGNED(to), TINYRT_ALIGNED(from), 4);
    }
}

/** Sets [to, end) to value. */
static inline void tinyrt_fill(int8_t value, const int8_t *end, int8_t *to) {
#if TINYRT_COPY_BYTES > 1
    const uint32_t word = 0x01010101U * (uint8_t)value;
    for (; (end - to) >= TINYRT_COPY_BYTES; to += TINYRT_COPY_BYTES) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(to, &word, TINYRT_COPY_BYTES);
    }
#endif
    while (to != end) {
        TINYRT_SHORT_LOOP;
        *to++ = value;
    }
}

/** As tinyrt_fill, for words: to and end are multiples of four. */
static inline void tinyrt_fill_words(int8_t value, const int8_t *end, int8_t *to) {
    const uint32_t word = 0x01010101U * (uint8_t)value;
    for (; to != end; to += 4) {
        TINYRT_SHORT_LOOP;
        (void)memcpy(TINYRT_ALIGNED(to), &word, 4);
    }
}

#endif
