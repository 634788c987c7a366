/** What makes vectors, takes lanes from them, or reads them as others. */
#ifndef MVE_MOVES_H
#define MVE_MOVES_H

#include "mve_types.h"

#define MVE_MADE(s)                                                                                \
    MVE_EACH_LANE(s, s, vdupq_n_##s, (mve_lane_##s a), a)                                          \
    MVE_FUNCTION mve_lane_##s vgetq_lane_##s(mve_##s a, const int index) {                         \
        return a[index];                                                                           \
    }                                                                                              \
    MVE_FUNCTION mve_##s vsetq_lane_##s(mve_lane_##s a, mve_##s b, const int index) {              \
        b[index] = a;                                                                              \
        return b;                                                                                  \
    }
MVE_INTEGERS(MVE_MADE)
MVE_MADE(f32)

/** a, a + imm, a + 2 imm, ... */
#define MVE_COUNTING(s)                                                                            \
    MVE_EACH_LANE(s, s, vidupq_n_##s, (uint32_t a, const int imm), a + (uint32_t)i * (uint32_t)imm)
MVE_UNSIGNED(MVE_COUNTING)

MVE_EACH_LANE(u8, u8, vrev16q_u8, (uint8x16_t a), a[i ^ 1])

#define MVE_READ_AS(to, from)                                                                      \
    MVE_FUNCTION mve_##to vreinterpretq_##to##_##from(mve_##from a) {                              \
        return (mve_##to)a;                                                                        \
    }
#define MVE_READ_AS_OTHERS(s, a, b, c, d, e)                                                       \
    MVE_READ_AS(s, a) MVE_READ_AS(s, b) MVE_READ_AS(s, c) MVE_READ_AS(s, d) MVE_READ_AS(s, e)
MVE_READ_AS_OTHERS(s8, s16, s32, u8, u16, u32)
MVE_READ_AS_OTHERS(s16, s8, s32, u8, u16, u32)
MVE_READ_AS_OTHERS(s32, s8, s16, u8, u16, u32)
MVE_READ_AS_OTHERS(u8, s8, s16, s32, u16, u32)
MVE_READ_AS_OTHERS(u16, s8, s16, s32, u8, u32)
MVE_READ_AS_OTHERS(u32, s8, s16, s32, u8, u16)

#endif
