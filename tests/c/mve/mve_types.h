/** Vectors, and what is said of their lanes by the suffix of an intrinsic: s8, s16, s32, u8, ... */
#ifndef MVE_TYPES_H
#define MVE_TYPES_H

#include <stdint.h>
#include <string.h>

/** What touches no memory is not watched: it would take most of the time to compile a kernel. */
#define MVE_FUNCTION __attribute__((no_sanitize("address", "undefined"))) static inline

#define MVE_VECTOR __attribute__((vector_size(16)))

typedef int8_t int8x16_t MVE_VECTOR;
typedef int16_t int16x8_t MVE_VECTOR;
typedef int32_t int32x4_t MVE_VECTOR;
typedef uint8_t uint8x16_t MVE_VECTOR;
typedef uint16_t uint16x8_t MVE_VECTOR;
typedef uint32_t uint32x4_t MVE_VECTOR;
typedef float float32x4_t MVE_VECTOR;

typedef struct {
    int16x8_t val[4];
} int16x8x4_t;
typedef struct {
    int32x4_t val[4];
} int32x4x4_t;

/** A bit for each byte of a vector. */
typedef uint16_t mve_pred16_t;

/* What a lane is, a vector of them, one of twice as wide lanes, and products of two lanes. */
#define MVE_TYPES(s, lane, vector, wide, has_sign)                                                 \
    typedef lane mve_lane_##s;                                                                     \
    typedef vector mve_##s;                                                                        \
    typedef wide mve_wide_##s;                                                                     \
    enum { mve_signed_##s = has_sign };
MVE_TYPES(s8, int8_t, int8x16_t, int64_t, 1)
MVE_TYPES(s16, int16_t, int16x8_t, int64_t, 1)
MVE_TYPES(s32, int32_t, int32x4_t, int64_t, 1)
MVE_TYPES(u8, uint8_t, uint8x16_t, uint64_t, 0)
MVE_TYPES(u16, uint16_t, uint16x8_t, uint64_t, 0)
MVE_TYPES(u32, uint32_t, uint32x4_t, uint64_t, 0)
MVE_TYPES(f32, float, float32x4_t, double, 1)

#define MVE_SIGNED(F) F(s8) F(s16) F(s32)
#define MVE_UNSIGNED(F) F(u8) F(u16) F(u32)
#define MVE_INTEGERS(F) MVE_SIGNED(F) MVE_UNSIGNED(F)
#define MVE_WIDE_SIGNED(F) F(s16) F(s32)
#define MVE_WIDE(F) MVE_WIDE_SIGNED(F) F(u16) F(u32)
#define MVE_HALVES_OF(F) F(s8, s16) F(s16, s32) F(u8, u16) F(u16, u32)

#define MVE_BYTES(s) ((int)sizeof(mve_lane_##s))
#define MVE_BITS(s) (8 * MVE_BYTES(s))
#define MVE_LANES(s) (16 / MVE_BYTES(s))

/** Ends of a lane's range. */
#define MVE_MIN(s) (-mve_signed_##s * ((int64_t)1 << (MVE_BITS(s) - 1)))
#define MVE_MAX(s) (((int64_t)1 << (MVE_BITS(s) - mve_signed_##s)) - 1)

/** A value at the nearer end of a range that it leaves. */
MVE_FUNCTION int64_t mve_clamp(int64_t value, int64_t least, int64_t most) {
    return (value < least) ? least : (value > most) ? most : value;
}
#define MVE_SATURATED(s, value) mve_clamp(value, MVE_MIN(s), MVE_MAX(s))

/** Whether a lane counts, whose first byte's bit says so. */
#define MVE_ACTIVE(s, p, i) ((((unsigned)(p) >> ((i) * MVE_BYTES(s))) & 1U) != 0)

/** Bytes of from where the predicate has a bit. */
MVE_FUNCTION void mve_merge(void *to, const void *from, mve_pred16_t p) {
    uint8_t bytes[16], others[16];
    (void)memcpy(bytes, to, 16);
    (void)memcpy(others, from, 16);
    for (int i = 0; i < 16; ++i) {
        bytes[i] = ((p >> i) & 1) ? others[i] : bytes[i];
    }
    (void)memcpy(to, bytes, 16);
}

/** A function of vectors, lane by lane: value may name the lane's number i and the parameters. */
#define MVE_EACH_LANE(s, result, name, parameters, value)                                          \
    MVE_FUNCTION mve_##result name parameters {                                                    \
        mve_##result y = {0};                                                                      \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            y[i] = (mve_lane_##result)(value);                                                     \
        }                                                                                          \
        return y;                                                                                  \
    }

#endif
