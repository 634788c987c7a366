/** Sums, least and greatest over all lanes, and over those of a predicate (_p). */
#ifndef MVE_SUMS_H
#define MVE_SUMS_H

#include "mve_types.h"

/** Sums of 32 and of 64 bits drop what leaves them. */
#define MVE_SUM(s, result, name, parameters, begin, p, value)                                      \
    MVE_FUNCTION result name parameters {                                                          \
        uint64_t sum = (uint64_t)(begin);                                                          \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            sum += MVE_ACTIVE(s, p, i) ? (uint64_t)(value) : 0U;                                   \
        }                                                                                          \
        return (result)sum;                                                                        \
    }

/** Of a vector's lanes. */
#define MVE_SUMS_OF_LANES(s, result, name)                                                         \
    MVE_SUM(s, result, name##q_##s, (mve_##s a), 0, 0xFFFFU, (mve_wide_##s)(a[i]))                 \
    MVE_SUM(s, result, name##q_p_##s, (mve_##s a, mve_pred16_t p), 0, p, (mve_wide_##s)(a[i]))     \
    MVE_SUM(s, result, name##aq_##s, (result a, mve_##s b), a, 0xFFFFU, (mve_wide_##s)(b[i]))      \
    MVE_SUM(s, result, name##aq_p_##s, (result a, mve_##s b, mve_pred16_t p), a, p,                \
            (mve_wide_##s)(b[i]))

/** Of products of two vectors' lanes. */
#define MVE_SUMS_OF_PRODUCTS(s, result, name)                                                      \
    MVE_SUM(s, result, name##q_##s, (mve_##s a, mve_##s b), 0, 0xFFFFU,                            \
            (mve_wide_##s)(a[i]) * (mve_wide_##s)(b[i]))                                           \
    MVE_SUM(s, result, name##q_p_##s, (mve_##s a, mve_##s b, mve_pred16_t p), 0, p,                \
            (mve_wide_##s)(a[i]) * (mve_wide_##s)(b[i]))                                           \
    MVE_SUM(s, result, name##aq_##s, (result add, mve_##s a, mve_##s b), add, 0xFFFFU,             \
            (mve_wide_##s)(a[i]) * (mve_wide_##s)(b[i]))                                           \
    MVE_SUM(s, result, name##aq_p_##s, (result add, mve_##s a, mve_##s b, mve_pred16_t p), add, p, \
            (mve_wide_##s)(a[i]) * (mve_wide_##s)(b[i]))

#define MVE_SUMS_SIGNED(s)                                                                         \
    MVE_SUMS_OF_LANES(s, int32_t, vaddv) MVE_SUMS_OF_PRODUCTS(s, int32_t, vmladav)
#define MVE_SUMS_UNSIGNED(s)                                                                       \
    MVE_SUMS_OF_LANES(s, uint32_t, vaddv) MVE_SUMS_OF_PRODUCTS(s, uint32_t, vmladav)
MVE_SIGNED(MVE_SUMS_SIGNED)
MVE_UNSIGNED(MVE_SUMS_UNSIGNED)
MVE_SUMS_OF_LANES(s32, int64_t, vaddlv)
MVE_SUMS_OF_LANES(u32, uint64_t, vaddlv)
MVE_SUMS_OF_PRODUCTS(s16, int64_t, vmlaldav)
MVE_SUMS_OF_PRODUCTS(s32, int64_t, vmlaldav)
MVE_SUMS_OF_PRODUCTS(u16, uint64_t, vmlaldav)
MVE_SUMS_OF_PRODUCTS(u32, uint64_t, vmlaldav)

#define MVE_EXTREME(s, name, parameters, p, op)                                                    \
    MVE_FUNCTION mve_lane_##s name parameters {                                                    \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            a = (MVE_ACTIVE(s, p, i) && (b[i] op a)) ? b[i] : a;                                   \
        }                                                                                          \
        return a;                                                                                  \
    }
#define MVE_EXTREMES(s)                                                                            \
    MVE_EXTREME(s, vminvq_##s, (mve_lane_##s a, mve_##s b), 0xFFFFU, <)                            \
    MVE_EXTREME(s, vmaxvq_##s, (mve_lane_##s a, mve_##s b), 0xFFFFU, >)                            \
    MVE_EXTREME(s, vminvq_p_##s, (mve_lane_##s a, mve_##s b, mve_pred16_t p), p, <)                \
    MVE_EXTREME(s, vmaxvq_p_##s, (mve_lane_##s a, mve_##s b, mve_pred16_t p), p, >)
MVE_INTEGERS(MVE_EXTREMES)

#endif
