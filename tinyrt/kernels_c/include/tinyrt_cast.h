/** cast: elements of another type. */
#ifndef TINYRT_CAST_H
#define TINYRT_CAST_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Converts one element. */
typedef void (*tinyrt_conversion)(const void *x, void *y);

#define TINYRT_CONVERSION(name, from, to, expression)                                              \
    static inline void name(const void *source, void *target) {                                    \
        const from x = *(const from *)source;                                                      \
        *(to *)target = (to)(expression);                                                          \
    }

/* Floats are cut towards zero; those beyond an integer's limits give the limit, NaN gives 0. The
 * limits' neighbours are written so that every float in between can be converted. */
#define TINYRT_FROM_FLOAT(name, to, least, below, above, most)                                     \
    TINYRT_CONVERSION(name, float, to,                                                             \
                      x >= (above)   ? (most)                                                      \
                      : x > (below)  ? (to)x                                                       \
                      : x <= (below) ? (least)                                                     \
                                     : 0)

TINYRT_FROM_FLOAT(tinyrt_f32_to_s8, int8_t, INT8_MIN, -129.0F, 128.0F, INT8_MAX)
TINYRT_FROM_FLOAT(tinyrt_f32_to_s16, int16_t, INT16_MIN, -32769.0F, 32768.0F, INT16_MAX)
TINYRT_FROM_FLOAT(tinyrt_f32_to_s32, int32_t, INT32_MIN, -2147483904.0F, 2147483648.0F, INT32_MAX)
TINYRT_FROM_FLOAT(tinyrt_f32_to_s64, int64_t, INT64_MIN, -9223373136366403584.0F,
                  9223372036854775808.0F, INT64_MAX)
TINYRT_FROM_FLOAT(tinyrt_f32_to_u8, uint8_t, 0, -1.0F, 256.0F, UINT8_MAX)
TINYRT_FROM_FLOAT(tinyrt_f32_to_u32, uint32_t, 0, -1.0F, 4294967296.0F, UINT32_MAX)
TINYRT_CONVERSION(tinyrt_f32_to_b8, float, uint8_t, x < 0.0F || x > 0.0F || x != x)

/* Integers keep their low bits; every number but 0 is true. */
TINYRT_CONVERSION(tinyrt_s8_to_f32, int8_t, float, x)
TINYRT_CONVERSION(tinyrt_s8_to_s16, int8_t, int16_t, x)
TINYRT_CONVERSION(tinyrt_s8_to_s32, int8_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_s8_to_s64, int8_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_s8_to_u8, int8_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_s8_to_u32, int8_t, uint32_t, x)
TINYRT_CONVERSION(tinyrt_s8_to_b8, int8_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_s16_to_f32, int16_t, float, x)
TINYRT_CONVERSION(tinyrt_s16_to_s8, int16_t, int8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_s16_to_s32, int16_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_s16_to_s64, int16_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_s16_to_u8, int16_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_s16_to_u32, int16_t, uint32_t, x)
TINYRT_CONVERSION(tinyrt_s16_to_b8, int16_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_s32_to_f32, int32_t, float, x)
TINYRT_CONVERSION(tinyrt_s32_to_s8, int32_t, int8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_s32_to_s16, int32_t, int16_t, (uint16_t)x)
TINYRT_CONVERSION(tinyrt_s32_to_s64, int32_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_s32_to_u8, int32_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_s32_to_u32, int32_t, uint32_t, x)
TINYRT_CONVERSION(tinyrt_s32_to_b8, int32_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_s64_to_f32, int64_t, float, x)
TINYRT_CONVERSION(tinyrt_s64_to_s8, int64_t, int8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_s64_to_s16, int64_t, int16_t, (uint16_t)x)
TINYRT_CONVERSION(tinyrt_s64_to_s32, int64_t, int32_t, (uint32_t)x)
TINYRT_CONVERSION(tinyrt_s64_to_u8, int64_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_s64_to_u32, int64_t, uint32_t, x)
TINYRT_CONVERSION(tinyrt_s64_to_b8, int64_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_u8_to_f32, uint8_t, float, x)
TINYRT_CONVERSION(tinyrt_u8_to_s8, uint8_t, int8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_u8_to_s16, uint8_t, int16_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_s32, uint8_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_s64, uint8_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_u32, uint8_t, uint32_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_b8, uint8_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_u32_to_f32, uint32_t, float, x)
TINYRT_CONVERSION(tinyrt_u32_to_s8, uint32_t, int8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_u32_to_s16, uint32_t, int16_t, (uint16_t)x)
TINYRT_CONVERSION(tinyrt_u32_to_s32, uint32_t, int32_t, (uint32_t)x)
TINYRT_CONVERSION(tinyrt_u32_to_s64, uint32_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_u32_to_u8, uint32_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_u32_to_b8, uint32_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_b8_to_f32, uint8_t, float, x)
TINYRT_CONVERSION(tinyrt_b8_to_s8, uint8_t, int8_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_s16, uint8_t, int16_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_s32, uint8_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_s64, uint8_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_u8, uint8_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_u32, uint8_t, uint32_t, x)

#undef TINYRT_FROM_FLOAT
#undef TINYRT_CONVERSION

/** Sizes of elements, in bytes. */
typedef struct {
    int32_t size;
    int32_t x_bytes;
    int32_t y_bytes;
} tinyrt_cast_params;

/** y = the conversion of x, element by element. y overlaps nothing. */
void tinyrt_cast(const tinyrt_cast_params *p, tinyrt_conversion convert, const void *x,
                 void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
