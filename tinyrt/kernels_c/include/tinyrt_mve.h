/** Vector primitives for cores with MVE (Helium), shared by the kernels in src_mve. */
#ifndef TINYRT_MVE_H
#define TINYRT_MVE_H

#include <arm_mve.h>

#include "tinyrt_types.h"

/** Bytes of a vector. */
#define TINYRT_VECTOR 16

/* What assembly that overwrites p0 needs beside a variable of that name. clang cannot be told so:
 * the assembly keeps p0. */
#ifdef __clang__
#define TINYRT_MVE_KEEP_P0 "vmrs %[p0], p0\n"
#define TINYRT_MVE_RESTORE_P0 "vmsr p0, %[p0]\n"
#define TINYRT_MVE_KEPT_P0 , [p0] "=&r"(p0)
#define TINYRT_MVE_CLOBBERS_P0
#else
#define TINYRT_MVE_KEEP_P0
#define TINYRT_MVE_RESTORE_P0
#define TINYRT_MVE_KEPT_P0
#define TINYRT_MVE_CLOBBERS_P0 , "p0"
#endif

/** value / 2^-shift, halves away from zero; lanes with shift 0 stay. Requires: shift in [-31, 0].
 *  The rounding shift rounds halves up, so one is taken from negative values first. */
static inline int32x4_t tinyrt_mve_rounding_shift_right(int32x4_t value, int32x4_t shift) {
    const int32x4_t minus_one = vshrq_n_s32(vandq_s32(value, shift), 31);
    return vrshlq_s32(vqaddq_s32(value, minus_one), shift);
}

#endif
