/** Loads and stores: of elements side by side, at offsets, and of every fourth one. Addresses are
 *  multiples of an element's size, as on the core. */
#ifndef MVE_MEMORY_H
#define MVE_MEMORY_H

#include "mve_types.h"

/** Elements of memory, which may be narrower than lanes: from the place at to lane i, and back. */
#define MVE_LOAD(s, name, parameters, p, at)                                                       \
    static inline mve_##s name parameters {                                                        \
        mve_##s y = {0};                                                                           \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            if (MVE_ACTIVE(s, p, i)) {                                                             \
                y[i] = (mve_lane_##s) * (at);                                                      \
            }                                                                                      \
        }                                                                                          \
        return y;                                                                                  \
    }
#define MVE_STORE(s, element, name, parameters, p, at)                                             \
    static inline void name parameters {                                                           \
        for (int i = 0; i < MVE_LANES(s); ++i) {                                                   \
            if (MVE_ACTIVE(s, p, i)) {                                                             \
                *(at) = (element)value[i];                                                         \
            }                                                                                      \
        }                                                                                          \
    }

#define MVE_SIDE_BY_SIDE(s, w, element)                                                            \
    MVE_LOAD(s, vldr##w##q_##s, (const element *base), 0xFFFFU, base + i)                          \
    MVE_LOAD(s, vldr##w##q_z_##s, (const element *base, mve_pred16_t p), p, base + i)              \
    MVE_STORE(s, element, vstr##w##q_##s, (element * base, mve_##s value), 0xFFFFU, base + i)      \
    MVE_STORE(s, element, vstr##w##q_p_##s, (element * base, mve_##s value, mve_pred16_t p), p,    \
              base + i)
MVE_SIDE_BY_SIDE(s8, b, int8_t)
MVE_SIDE_BY_SIDE(s16, b, int8_t)
MVE_SIDE_BY_SIDE(s32, b, int8_t)
MVE_SIDE_BY_SIDE(u8, b, uint8_t)
MVE_SIDE_BY_SIDE(u16, b, uint8_t)
MVE_SIDE_BY_SIDE(u32, b, uint8_t)
MVE_SIDE_BY_SIDE(s16, h, int16_t)
MVE_SIDE_BY_SIDE(s32, h, int16_t)
MVE_SIDE_BY_SIDE(u16, h, uint16_t)
MVE_SIDE_BY_SIDE(u32, h, uint16_t)
MVE_SIDE_BY_SIDE(s32, w, int32_t)
MVE_SIDE_BY_SIDE(u32, w, uint32_t)
MVE_SIDE_BY_SIDE(f32, w, float)

/** At offsets: of elements, or of bytes. */
#define MVE_AT_PLACES(s, w, by, element, offsets, from, to)                                        \
    MVE_LOAD(s, vldr##w##q_gather_##by##_##s, (const element *base, mve_##offsets offset),         \
             0xFFFFU, from)                                                                        \
    MVE_LOAD(s, vldr##w##q_gather_##by##_z_##s,                                                    \
             (const element *base, mve_##offsets offset, mve_pred16_t p), p, from)                 \
    MVE_STORE(s, element, vstr##w##q_scatter_##by##_##s,                                           \
              (element * base, mve_##offsets offset, mve_##s value), 0xFFFFU, to)                  \
    MVE_STORE(s, element, vstr##w##q_scatter_##by##_p_##s,                                         \
              (element * base, mve_##offsets offset, mve_##s value, mve_pred16_t p), p, to)
#define MVE_AT_BYTES(s, w, element, offsets)                                                       \
    MVE_AT_PLACES(s, w, offset, element, offsets,                                                  \
                  (const element *)(const void *)((const int8_t *)base + offset[i]),               \
                  (element *)(void *)((int8_t *)base + offset[i]))
#define MVE_AT_OFFSETS(s, w, element, offsets)                                                     \
    MVE_AT_BYTES(s, w, element, offsets)                                                           \
    MVE_AT_PLACES(s, w, shifted_offset, element, offsets, base + offset[i], base + offset[i])
MVE_AT_BYTES(s8, b, int8_t, u8)
MVE_AT_BYTES(s16, b, int8_t, u16)
MVE_AT_BYTES(s32, b, int8_t, u32)
MVE_AT_BYTES(u16, b, uint8_t, u16)
MVE_AT_BYTES(u32, b, uint8_t, u32)
MVE_AT_OFFSETS(s16, h, int16_t, u16)
MVE_AT_OFFSETS(s32, h, int16_t, u32)
MVE_AT_OFFSETS(u16, h, uint16_t, u16)
MVE_AT_OFFSETS(u32, h, uint16_t, u32)
MVE_AT_OFFSETS(s32, w, int32_t, u32)
MVE_AT_OFFSETS(u32, w, uint32_t, u32)
MVE_AT_OFFSETS(f32, w, float, u32)

/** Four vectors, whose lanes alternate in memory. */
static inline int32x4x4_t vld4q_s32(const int32_t *base) {
    int32x4x4_t y;
    for (int i = 0; i < 16; ++i) {
        y.val[i % 4][i / 4] = base[i];
    }
    return y;
}
static inline void vst4q_s32(int32_t *base, int32x4x4_t value) {
    for (int i = 0; i < 16; ++i) {
        base[i] = value.val[i % 4][i / 4];
    }
}

#endif
