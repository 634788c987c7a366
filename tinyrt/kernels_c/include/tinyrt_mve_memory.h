/** Copying and filling bytes with vectors, for cores with MVE. */
#ifndef TINYRT_MVE_MEMORY_H
#define TINYRT_MVE_MEMORY_H

#include "tinyrt_mve.h"

#if TINYRT_ASM_LOOPS

/* The compiler knows no loops that idle the lanes behind the end by themselves. */

/** y = x, for bytes >= 0; y may overlap what is a vector or more behind it, or
 *  begin before x. */
static inline void tinyrt_mve_copy(int8_t *y, const int8_t *x, int32_t bytes) {
    __asm volatile("wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[x]], #16\n"
                   "vstrb.8 q0, [%[y]], #16\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   : [x] "+r"(x), [y] "+r"(y)
                   : [bytes] "r"(bytes)
                   : "lr", "q0", "memory");
}

/** As tinyrt_mve_copy, of blocks of four vectors, which are loaded before they are stored. */
static inline void tinyrt_mve_copy_blocks(int8_t *y, const int8_t *x, int32_t blocks) {
    __asm volatile("wls lr, %[blocks], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[x]], #16\n"
                   "vldrb.8 q1, [%[x]], #16\n"
                   "vldrb.8 q2, [%[x]], #16\n"
                   "vldrb.8 q3, [%[x]], #16\n"
                   "vstrb.8 q0, [%[y]], #16\n"
                   "vstrb.8 q1, [%[y]], #16\n"
                   "vstrb.8 q2, [%[y]], #16\n"
                   "vstrb.8 q3, [%[y]], #16\n"
                   "le lr, 1b\n"
                   "2:\n"
                   : [x] "+r"(x), [y] "+r"(y)
                   : [blocks] "r"(blocks)
                   : "lr", "q0", "q1", "q2", "q3", "memory");
}

/** y = a vector of values, and the same again, for bytes >= 0. */
static inline void tinyrt_mve_repeat(int8_t *y, int8x16_t values, int32_t bytes) {
    __asm volatile("wlstp.8 lr, %[bytes], 2f\n"
                   "1:\n"
                   "vstrb.8 %q[values], [%[y]], #16\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   : [y] "+r"(y)
                   : [bytes] "r"(bytes), [values] "w"(values)
                   : "lr", "memory");
}

#else

static inline void tinyrt_mve_copy(int8_t *y, const int8_t *x, int32_t bytes) {
    for (; bytes >= TINYRT_VECTOR; bytes -= TINYRT_VECTOR) {
        vstrbq_s8(y, vldrbq_s8(x));
        x += TINYRT_VECTOR;
        y += TINYRT_VECTOR;
    }
    if (bytes > 0) {
        const mve_pred16_t lanes = vctp8q((uint32_t)bytes);
        vstrbq_p_s8(y, vldrbq_z_s8(x, lanes), lanes);
    }
}

static inline void tinyrt_mve_copy_blocks(int8_t *y, const int8_t *x, int32_t blocks) {
    tinyrt_mve_copy(y, x, blocks * 4 * TINYRT_VECTOR);
}

static inline void tinyrt_mve_repeat(int8_t *y, int8x16_t values, int32_t bytes) {
    for (; bytes >= TINYRT_VECTOR; bytes -= TINYRT_VECTOR) {
        vstrbq_s8(y, values);
        y += TINYRT_VECTOR;
    }
    if (bytes > 0) {
        vstrbq_p_s8(y, values, vctp8q((uint32_t)bytes));
    }
}

#endif

/** y = value in all of bytes >= 0 bytes. */
static inline void tinyrt_mve_fill(int8_t *y, int8_t value, int32_t bytes) {
    tinyrt_mve_repeat(y, vdupq_n_s8(value), bytes);
}

#endif
