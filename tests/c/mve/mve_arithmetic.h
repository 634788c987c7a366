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

/** Of two vectors; and the same where p has bits, else inactive. */
#define MVE_BOTH(s, name, op)                                                                      \
    MVE_EACH_LANE(s, s, name##_##s, (mve_##s a, mve_##s b),                                        \
                  op(s, (int64_t)(a[i]), (int64_t)(b[i])))                                         \
    static inline mve_##s name##_m_##s(mve_##s inactive, mve_##s a, mve_##s b, mve_pred16_t p) {   \
        const mve_##s y = name##_##s(a, b);                                                        \
        mve_merge(&inactive, &y, p);                                                               \
        return inactive;                                                                           \
    }

/** Of a vector and a scalar, likewise. */
#define MVE_SCALAR(s, name, op)                                                                    \
    MVE_EACH_LANE(s, s, name##_n_##s, (mve_##s a, mve_lane_##s b),                                 \
                  op(s, (int64_t)(a[i]), (int64_t)b))                                              \
    static inline mve_##s name##_m_n_##s(mve_##s inactive, mve_##s a, mve_lane_##s b,              \
                                         mve_pred16_t p) {                                         \
        const mve_##s y = name##_n_##s(a, b);                                                      \
        mve_merge(&inactive, &y, p);                                                               \
        return inactive;                                                                           \
    }

#define MVE_OF_ANY(s)                                                                              \
    MVE_BOTH(s, vaddq, MVE_ADD)                                                                    \
    MVE_BOTH(s, vsubq, MVE_SUB)                                                                    \
    MVE_BOTH(s, vminq, MVE_MIN_OF)                                                                 \
    MVE_BOTH(s, vmaxq, MVE_MAX_OF)                                                                 \
    MVE_BOTH(s, vandq, MVE_AND)                                                                    \
    MVE_BOTH(s, vorrq, MVE_OR)                                                                     \
    MVE_BOTH(s, veorq, MVE_XOR)                                                                    \
    MVE_BOTH(s, vhaddq, MVE_HADD)                                                                  \
    MVE_BOTH(s, vhsubq, MVE_HSUB)                                                                  \
    MVE_BOTH(s, vqaddq, MVE_QADD)                                                                  \
    MVE_BOTH(s, vqsubq, MVE_QSUB)                                                                  \
    MVE_SCALAR(s, vaddq, MVE_ADD)                                                                  \
    MVE_SCALAR(s, vsubq, MVE_SUB)                                                                  \
    MVE_SCALAR(s, vqaddq, MVE_QADD)                                                                \
    MVE_SCALAR(s, vqsubq, MVE_QSUB)
MVE_INTEGERS(MVE_OF_ANY)

/** Of one vector, likewise: -2^31 has no opposite, and stays. */
#define MVE_ONE(s, name, op)                                                                       \
    MVE_EACH_LANE(s, s, name##_##s, (mve_##s a), op(s, (int64_t)(a[i])))                           \
    static inline mve_##s name##_m_##s(mve_##s inactive, mve_##s a, mve_pred16_t p) {              \
        const mve_##s y = name##_##s(a);                                                           \
        mve_merge(&inactive, &y, p);                                                               \
        return inactive;                                                                           \
    }

#define MVE_ABS(s, a) ((a) < 0) ? -(a) : (a)
#define MVE_NEG(s, a) -(a)
#define MVE_OF_SIGNED(s) MVE_ONE(s, vabsq, MVE_ABS) MVE_ONE(s, vnegq, MVE_NEG)
MVE_SIGNED(MVE_OF_SIGNED)

static inline int mve_leading_zeros(uint64_t value, int bits) {
    int zeros = 0;
    while ((zeros < bits) && (((value >> (bits - 1 - zeros)) & 1U) == 0)) {
        ++zeros;
    }
    return zeros;
}
#define MVE_CLZ(s, a) mve_leading_zeros((uint64_t)(a), MVE_BITS(s))
#define MVE_COUNTED(s) MVE_ONE(s, vclzq, MVE_CLZ)
MVE_INTEGERS(MVE_COUNTED)

#define MVE_CLEARED(s)                                                                             \
    MVE_EACH_LANE(s, s, vbicq_n_##s, (mve_##s a, const int imm),                                   \
                  MVE_BIC(s, (int64_t)(a[i]), (int64_t)imm))
MVE_CLEARED(s16)
MVE_CLEARED(s32) MVE_CLEARED(u16) MVE_CLEARED(u32)

/* Complex numbers, the real parts in even lanes: b turned by a quarter, or by three, is added. */
#define MVE_TURNED(s)                                                                              \
    MVE_EACH_LANE(s, s, vcaddq_rot90_##s, (mve_##s a, mve_##s b),                                  \
                  (int64_t)(a[i]) + ((i % 2) ? 1 : -1) * (int64_t)(b[i ^ 1]))                      \
    MVE_EACH_LANE(s, s, vcaddq_rot270_##s, (mve_##s a, mve_##s b),                                 \
                  (int64_t)(a[i]) - ((i % 2) ? 1 : -1) * (int64_t)(b[i ^ 1]))
    MVE_INTEGERS(MVE_TURNED)

    /* One rounding for product and sum. */
    MVE_EACH_LANE(f32, f32, vfmaq_f32, (float32x4_t add, float32x4_t a, float32x4_t b),
                  __builtin_fmaf(a[i], b[i], add[i]))
        MVE_EACH_LANE(f32, f32, vfmaq_n_f32, (float32x4_t add, float32x4_t a, float b),
                      __builtin_fmaf(a[i], b, add[i]))

#endif
