/** Shifts, by numbers and by lanes, and what becomes narrower or wider on the way. */
#ifndef MVE_SHIFTS_H
#define MVE_SHIFTS_H

#include "mve_types.h"

/** value * 2^shift, towards minus infinity, or rounded, halves up. Shifts that leave nothing are
 *  as good as the greatest: a value has up to 32 bits. */
MVE_FUNCTION int64_t mve_shifted(int64_t value, int shift, int64_t rounds) {
    if (shift >= 0) {
        return (int64_t)((uint64_t)value << ((shift > 32) ? 63 : shift));
    }
    const int right = (shift < -40) ? 40 : -shift;
    return (value + rounds * ((int64_t)1 << (right - 1))) >> right;
}

/** The same at the ends of the range; value has no more bits than a lane. */
MVE_FUNCTION int64_t mve_raised(int64_t value, int shift, int64_t least, int64_t most) {
    const int up = (shift > 31) ? 31 : shift;
    if ((shift > 31) && (value != 0)) {
        return (value < 0) ? least : most;
    }
    return (up < 0) ? mve_shifted(value, up, 0)
                    : mve_clamp(value * ((int64_t)1 << up), least, most);
}

#define MVE_LEFT(s, a, n) mve_shifted((int64_t)(a), n, 0)
#define MVE_LEFT_ROUNDED(s, a, n) mve_shifted((int64_t)(a), n, 1)
#define MVE_LEFT_SATURATED(s, a, n) mve_raised((int64_t)(a), n, MVE_MIN(s), MVE_MAX(s))

/* A lane's or a scalar's lowest byte is the shift, with its sign. */
#define MVE_SHIFTED(s, by)                                                                         \
    MVE_EACH_LANE(s, s, vshlq_n_##s, (mve_##s a, const int imm), MVE_LEFT(s, a[i], imm))           \
    MVE_EACH_LANE(s, s, vqshlq_n_##s, (mve_##s a, const int imm),                                  \
                  MVE_LEFT_SATURATED(s, a[i], imm))                                                \
    MVE_EACH_LANE(s, s, vshrq_n_##s, (mve_##s a, const int imm), MVE_LEFT(s, a[i], -imm))          \
    MVE_EACH_LANE(s, s, vrshrq_n_##s, (mve_##s a, const int imm), MVE_LEFT_ROUNDED(s, a[i], -imm)) \
    MVE_EACH_LANE(s, s, vshlq_##s, (mve_##s a, mve_##by b), MVE_LEFT(s, a[i], (int8_t)b[i]))       \
    MVE_EACH_LANE(s, s, vrshlq_##s, (mve_##s a, mve_##by b),                                       \
                  MVE_LEFT_ROUNDED(s, a[i], (int8_t)b[i]))                                         \
    MVE_EACH_LANE(s, s, vshlq_r_##s, (mve_##s a, int32_t b), MVE_LEFT(s, a[i], (int8_t)b))         \
    MVE_EACH_LANE(s, s, vrshlq_n_##s, (mve_##s a, int32_t b), MVE_LEFT_ROUNDED(s, a[i], (int8_t)b))
#define MVE_OF_SHIFTS(F) F(s8, s8) F(s16, s16) F(s32, s32) F(u8, s8) F(u16, s16) F(u32, s32)
MVE_OF_SHIFTS(MVE_SHIFTED)

/** All 128 bits to the left: bits of *b come in from the right, and what leaves is in *b. */
MVE_FUNCTION uint32x4_t vshlcq_u32(uint32x4_t a, uint32_t *b, const int imm) {
    for (int i = 0; i < 4; ++i) {
        const uint64_t both = ((uint64_t)a[i] << imm) | (*b & (((uint64_t)1 << imm) - 1));
        *b = (uint32_t)(both >> 32);
        a[i] = (uint32_t)both;
    }
    return a;
}
MVE_FUNCTION uint16x8_t vshlcq_u16(uint16x8_t a, uint32_t *b, const int imm) {
    return (uint16x8_t)vshlcq_u32((uint32x4_t)a, b, imm);
}

/** Even lanes, or odd ones, in twice as many bits: as they are, or shifted to the left. */
#define MVE_LENGTHENED(s, wide)                                                                    \
    MVE_EACH_LANE(wide, wide, vmovlbq_##s, (mve_##s a), a[2 * i])                                  \
    MVE_EACH_LANE(wide, wide, vmovltq_##s, (mve_##s a), a[2 * i + 1])                              \
    MVE_EACH_LANE(wide, wide, vshllbq_n_##s, (mve_##s a, const int imm),                           \
                  MVE_LEFT(s, a[2 * i], imm))                                                      \
    MVE_EACH_LANE(wide, wide, vshlltq_n_##s, (mve_##s a, const int imm),                           \
                  MVE_LEFT(s, a[2 * i + 1], imm))
MVE_HALVES_OF(MVE_LENGTHENED)

/** Lanes of b in half as many bits as a's even lanes (part 0), or as its odd ones (part 1). */
#define MVE_NARROWED(name, s, wide, part, parameters, value)                                       \
    MVE_EACH_LANE(s, s, name, parameters, ((i % 2) == (part)) ? (value) : (int64_t)(a[i]))
#define MVE_NARROW_TWO(name, s, wide, value)                                                       \
    MVE_NARROWED(name##bq_##wide, s, wide, 0, (mve_##s a, mve_##wide b), value)                    \
    MVE_NARROWED(name##tq_##wide, s, wide, 1, (mve_##s a, mve_##wide b), value)
#define MVE_NARROW_BY(name, s, wide, value)                                                        \
    MVE_NARROWED(name##bq_n_##wide, s, wide, 0, (mve_##s a, mve_##wide b, const int imm), value)   \
    MVE_NARROWED(name##tq_n_##wide, s, wide, 1, (mve_##s a, mve_##wide b, const int imm), value)

#define MVE_NARROW(s, wide)                                                                        \
    MVE_NARROW_TWO(vmovn, s, wide, b[i / 2])                                                       \
    MVE_NARROW_TWO(vqmovn, s, wide, MVE_SATURATED(s, b[i / 2]))                                    \
    MVE_NARROW_BY(vshrn, s, wide, MVE_LEFT(s, b[i / 2], -imm))                                     \
    MVE_NARROW_BY(vrshrn, s, wide, MVE_LEFT_ROUNDED(s, b[i / 2], -imm))                            \
    MVE_NARROW_BY(vqrshrn, s, wide, MVE_SATURATED(s, MVE_LEFT_ROUNDED(s, b[i / 2], -imm)))
MVE_HALVES_OF(MVE_NARROW)

/** From lanes with a sign to ones without. */
#define MVE_NARROW_SIGNED(s, wide)                                                                 \
    MVE_NARROW_TWO(vqmovun, s, wide, MVE_SATURATED(s, b[i / 2]))                                   \
    MVE_NARROW_BY(vqrshrun, s, wide, MVE_SATURATED(s, MVE_LEFT_ROUNDED(s, b[i / 2], -imm)))
MVE_NARROW_SIGNED(u8, s16) MVE_NARROW_SIGNED(u16, s32)

#endif
