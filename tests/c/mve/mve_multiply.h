/** Products lane by lane. */
#ifndef MVE_MULTIPLY_H
#define MVE_MULTIPLY_H

#include "mve_types.h"

/** A product of two lanes; those of unsigned ones need 64 bits without a sign. */
#define MVE_PRODUCT(s, a, b) ((mve_wide_##s)(a) * (mve_wide_##s)(b))

/** Half of what is added before bits are cut off. */
#define MVE_HALF(s, bits) ((mve_wide_##s)1 << ((bits) - 1))

#define MVE_MULTIPLIED(s)                                                                          \
    MVE_EACH_LANE(s, s, vmulq_##s, (mve_##s a, mve_##s b), MVE_PRODUCT(s, a[i], b[i]))             \
    MVE_EACH_LANE(s, s, vmulq_n_##s, (mve_##s a, mve_lane_##s b), MVE_PRODUCT(s, a[i], b))         \
    MVE_EACH_LANE(s, s, vmulhq_##s, (mve_##s a, mve_##s b),                                        \
                  MVE_PRODUCT(s, a[i], b[i]) >> MVE_BITS(s))                                       \
    MVE_EACH_LANE(s, s, vrmulhq_##s, (mve_##s a, mve_##s b),                                       \
                  (MVE_PRODUCT(s, a[i], b[i]) + MVE_HALF(s, MVE_BITS(s))) >> MVE_BITS(s))          \
    MVE_EACH_LANE(s, s, vmlaq_n_##s, (mve_##s add, mve_##s a, mve_lane_##s b),                     \
                  (mve_wide_##s)(add[i]) + MVE_PRODUCT(s, a[i], b))                                \
    MVE_EACH_LANE(s, s, vmlasq_n_##s, (mve_##s a, mve_##s b, mve_lane_##s add),                    \
                  MVE_PRODUCT(s, a[i], b[i]) + (mve_wide_##s)add)
MVE_WIDE(MVE_MULTIPLIED)

/* High halves of twice a product: as it is, rounded, and with a sum. One bit less is cut off
 * instead of doubling. */
#define MVE_DOUBLED(s, sum) MVE_SATURATED(s, (sum) >> (MVE_BITS(s) - 1))
#define MVE_DOUBLED_ROUNDED(s, sum) MVE_DOUBLED(s, (sum) + MVE_HALF(s, MVE_BITS(s) - 1))
#define MVE_RAISED(s, add) ((int64_t)(add) * ((int64_t)1 << (MVE_BITS(s) - 1)))
#define MVE_HIGH_HALVES(s)                                                                         \
    MVE_EACH_LANE(s, s, vqdmulhq_##s, (mve_##s a, mve_##s b),                                      \
                  MVE_DOUBLED(s, MVE_PRODUCT(s, a[i], b[i])))                                      \
    MVE_EACH_LANE(s, s, vqdmulhq_n_##s, (mve_##s a, mve_lane_##s b),                               \
                  MVE_DOUBLED(s, MVE_PRODUCT(s, a[i], b)))                                         \
    MVE_EACH_LANE(s, s, vqrdmulhq_##s, (mve_##s a, mve_##s b),                                     \
                  MVE_DOUBLED_ROUNDED(s, MVE_PRODUCT(s, a[i], b[i])))                              \
    MVE_EACH_LANE(s, s, vqrdmulhq_n_##s, (mve_##s a, mve_lane_##s b),                              \
                  MVE_DOUBLED_ROUNDED(s, MVE_PRODUCT(s, a[i], b)))                                 \
    MVE_EACH_LANE(s, s, vqdmlahq_n_##s, (mve_##s add, mve_##s a, mve_lane_##s b),                  \
                  MVE_DOUBLED(s, MVE_RAISED(s, add[i]) + MVE_PRODUCT(s, a[i], b)))                 \
    MVE_EACH_LANE(s, s, vqrdmlahq_n_##s, (mve_##s add, mve_##s a, mve_lane_##s b),                 \
                  MVE_DOUBLED_ROUNDED(s, MVE_RAISED(s, add[i]) + MVE_PRODUCT(s, a[i], b)))
MVE_WIDE_SIGNED(MVE_HIGH_HALVES)

/* Two products each: like lanes go to even lanes, crossed ones to odd lanes, others stay. */
#define MVE_PAIRED(s, name, to, other, sign)                                                       \
    MVE_EACH_LANE(s, s, name##_##s, (mve_##s inactive, mve_##s a, mve_##s b),                      \
                  ((i % 2) != (to))                                                                \
                      ? inactive[i]                                                                \
                      : MVE_DOUBLED_ROUNDED(s, MVE_PRODUCT(s, a[i], b[i ^ (to)]) +                 \
                                                   sign MVE_PRODUCT(s, a[i ^ 1], b[i ^ (other)])))
MVE_PAIRED(s16, vqrdmladhq, 0, 1, +)
MVE_PAIRED(s16, vqrdmladhxq, 1, 0, +)
MVE_PAIRED(s16, vqrdmlsdhq, 0, 1, -)
MVE_PAIRED(s16, vqrdmlsdhxq, 1, 0, -)

/** Products of even lanes, or of odd ones, in twice as many bits. */
#define MVE_WIDENED(s, wide)                                                                       \
    MVE_EACH_LANE(wide, wide, vmullbq_int_##s, (mve_##s a, mve_##s b),                             \
                  MVE_PRODUCT(s, a[2 * i], b[2 * i]))                                              \
    MVE_EACH_LANE(wide, wide, vmulltq_int_##s, (mve_##s a, mve_##s b),                             \
                  MVE_PRODUCT(s, a[2 * i + 1], b[2 * i + 1]))
MVE_WIDENED(s16, s32)
MVE_WIDENED(u16, u32)

#endif
