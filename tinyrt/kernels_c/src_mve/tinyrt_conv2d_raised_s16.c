#include "tinyrt_conv2d_wide.h"

#include "tinyrt_mve_raised_s16.h"

#if TINYRT_ASM_LOOPS

/* Sums across a vector go to even-numbered registers, of which the compiler finds too few; loads
 * that widen take their address from one of the lower eight. */

#define FILTER(sum)                                                                                \
    "vldrb.s16 q1, [%[w]], #8\n"                                                                   \
    "vmladava.s16 " sum ", q0, q1\n"

/** Sums of a column with four channels' weights. */
static inline int32x4_t four_sums(const int16_t *x, const int8_t *w, int32_t taps) {
    int32x4_t sums;
    __asm volatile("mov r0, #0\n"
                   "mov r2, #0\n"
                   "mov r4, #0\n"
                   "mov r6, #0\n"
                   "wls lr, %[eights], 2f\n"
                   "1:\n"
                   "vldrh.16 q0, [%[x]], #16\n" FILTER("r0") FILTER("r2") FILTER("r4")
                       FILTER("r6") "le lr, 1b\n"
                                    "2:\n"
                                    "vmov %q[sums][2], %q[sums][0], r0, r4\n"
                                    "vmov %q[sums][3], %q[sums][1], r2, r6\n"
                   : [sums] "=w"(sums), [x] "+r"(x), [w] "+l"(w)
                   : [eights] "r"(taps / 8)
                   : "r0", "r2", "r4", "r6", "lr", "q0", "q1", "memory");
    return sums;
}

#else

static inline int32x4_t four_sums(const int16_t *x, const int8_t *w, int32_t taps) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t left = taps / 8; left > 0; --left, x += 8, w += 32) {
        const int16x8_t eight = vldrhq_s16(x);
        s0 = vmladavaq_s16(s0, eight, vldrbq_s16(w));
        s1 = vmladavaq_s16(s1, eight, vldrbq_s16(w + 8));
        s2 = vmladavaq_s16(s2, eight, vldrbq_s16(w + 16));
        s3 = vmladavaq_s16(s3, eight, vldrbq_s16(w + 24));
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    return vldrwq_s32(sums);
}

#endif

static const int8_t *tinyrt_wide_group(const tinyrt_conv2d_raised_s16_params *p,
                                       const int16_t *column, const int8_t *w, const int32_t *bias,
                                       int32_t oc, int16_t *y) {
    const int32_t end = oc + (p->y.c / p->groups);
    for (; oc < end; oc += 4, w += 4 * p->taps) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(end - oc));
        const int32x4_t sums = four_sums(column, w, p->taps);
        tinyrt_mve_raised_s16(&p->raised, bias, oc, sums, lanes, y + oc);
    }
    return w;
}

#define TINYRT_KERNEL tinyrt_conv2d_raised_s16
#define TINYRT_WIDE_PARAMS tinyrt_conv2d_raised_s16_params
#define TINYRT_WIDE_W int8_t
#define TINYRT_WIDE_BIAS int32_t
#include "tinyrt_conv2d_wide_loop.h"
