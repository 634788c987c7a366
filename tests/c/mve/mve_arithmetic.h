/** Sums, differences, bits and the like: of two vectors, and of a vector and a scalar. */
#ifndef MVE_ARITHMETIC_H
#define MVE_ARITHMETIC_H

#include "mve_types.h"

/* Of lanes a and b, in 64 bits: two lanes' sum or difference fits. */
#define MVE_ADD(s, a, b) (a) + (b)
#define MVE_SUB(s, a, b) (a) - (b)
#define MVE_MIN_OF(s, a, b) ((a) < (b)) ? (a) : (b)
#define MVE_MAX_OF(s, a, b) ((a) > (b)) ? (a) : (b)
#define MVE_AND(s, a, b) (a) & (b)
#define MVE_OR(s, a, b) (a) | (b)
#define MVE_XOR(s, a, b) (a) ^ (b)
#define MVE_BIC(s, a, b) (a) & ~(b)
#define MVE_HADD(s, a, b) ((a) + (b)) >> 1
#define MVE_HSUB(s, a, b) ((a) - (b)) >> 1
#define MVE_QADD(s, a, b) MVE_SATURATED(s, (a) + (b))
#define MVE_QSUB(s, a, b) MVE_SATURATED(s, (a) - (b))

#define MVE_TWO(s, name, op)                                                                       \
    MVE_EACH_LANE(s, s, name##_##s, (mve_##s a, mve_##s b), op(s, (int64_t)(a[i]), (int64_t)(b[i])))
#define MVE_SCALAR(s, name, op)                                                                    \
    MVE_EACH_LANE(s, s, name##_n_##s, (mve_##s a, mve_lane_##s b),                                 \
                  op(s, (int64_t)(a[i]), (int64_t)b))

/** The same where p has bits, else inactive. */
#define MVE_MERGED(s, name, suffix, other)                                                         \
    MVE_FUNCTION mve_##s name##_m##suffix##_##s(mve_##s inactive, mve_##s a, other b,              \
                                                mve_pred16_t p) {                                  \
        const mve_##s y = name##suffix##_##s(a, b);                                                \
        mve_merge(&inactive, &y, p);                                                               \
        return inactive;                                                                           \
    }
#define MVE_TWO_MERGED(s, name, op) MVE_TWO(s, name, op) MVE_MERGED(s, name, , mve_##s)
#define MVE_SCALAR_MERGED(s, name, op) MVE_SCALAR(s, name, op) MVE_MERGED(s, name, _n, mve_lane_##s)

#define MVE_OF_ANY(s)                                                                              \
    MVE_TWO_MERGED(s, vminq, MVE_MIN_OF)                                                           \
    MVE_TWO_MERGED(s, vmaxq, MVE_MAX_OF)
MVE_INTEGERS(MVE_OF_ANY)

#define MVE_OF_WIDE(s)                                                                             \
    MVE_TWO_MERGED(s, vaddq, MVE_ADD)                                                              \
    MVE_TWO_MERGED(s, vsubq, MVE_SUB)                                                              \
    MVE_TWO(s, vandq, MVE_AND)                                                                     \
    MVE_TWO(s, vorrq, MVE_OR)                                                                      \
    MVE_TWO(s, veorq, MVE_XOR)                                                                     \
    MVE_TWO(s, vqaddq, MVE_QADD)                                                                   \
    MVE_TWO(s, vqsubq, MVE_QSUB)                                                                   \
    MVE_SCALAR_MERGED(s, vaddq, MVE_ADD)                                                           \
    MVE_SCALAR_MERGED(s, vsubq, MVE_SUB)                                                           \
    MVE_SCALAR(s, vqaddq, MVE_QADD)                                                                \
    MVE_SCALAR(s, vqsubq, MVE_QSUB)                                                                \
    MVE_EACH_LANE(s, s, vbicq_n_##s, (mve_##s a, const int imm),                                   \
                  MVE_BIC(s, (int64_t)(a[i]), (int64_t)imm))
MVE_WIDE(MVE_OF_WIDE)

/** Of one vector: the least number has no opposite, and stays. */
#define MVE_ONE(s, name, value)                                                                    \
    MVE_EACH_LANE(s, s, name##_##s, (mve_##s a), value)                                            \
    MVE_FUNCTION mve_##s name##_m_##s(mve_##s inactive, mve_##s a, mve_pred16_t p) {               \
        const mve_##s y = name##_##s(a);                                                           \
        mve_merge(&inactive, &y, p);                                                               \
        return inactive;                                                                           \
    }

/* The last two are of complex numbers, the real parts in even lanes: b is turned by a quarter, or
 * by three of them, and added. */
#define MVE_OF_SIGNED(s)                                                                           \
    MVE_ONE(s, vabsq, (a[i] < 0) ? -(int64_t)(a[i]) : (a[i]))                                      \
    MVE_ONE(s, vnegq, -(int64_t)(a[i]))                                                            \
    MVE_TWO_MERGED(s, vhaddq, MVE_HADD)                                                            \
    MVE_TWO_MERGED(s, vhsubq, MVE_HSUB)                                                            \
    MVE_EACH_LANE(s, s, vcaddq_rot90_##s, (mve_##s a, mve_##s b),                                  \
                  (int64_t)(a[i]) + ((i % 2) ? 1 : -1) * (int64_t)(b[i ^ 1]))                      \
    MVE_EACH_LANE(s, s, vcaddq_rot270_##s, (mve_##s a, mve_##s b),                                 \
                  (int64_t)(a[i]) - ((i % 2) ? 1 : -1) * (int64_t)(b[i ^ 1]))
MVE_WIDE_SIGNED(MVE_OF_SIGNED)

MVE_FUNCTION int mve_leading_zeros(uint64_t value, int bits) {
    int zeros = 0;
    while ((zeros < bits) && (((value >> (bits - 1 - zeros)) & 1U) == 0)) {
        ++zeros;
    }
    return zeros;
}
MVE_EACH_LANE(u32, u32, vclzq_u32, (uint32x4_t a), mve_leading_zeros(a[i], 32))

/* One rounding for product and sum. */
MVE_EACH_LANE(f32, f32, vfmaq_f32, (float32x4_t add, float32x4_t a, float32x4_t b),
              __builtin_fmaf(a[i], b[i], add[i]))
MVE_EACH_LANE(f32, f32, vfmaq_n_f32, (float32x4_t add, float32x4_t a, float b),
              __builtin_fmaf(a[i], b, add[i]))

#endif
