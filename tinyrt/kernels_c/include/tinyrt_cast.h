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
TINYRT_CONVERSION(tinyrt_f32_to_s32, float, int32_t,
                  x >= 2147483648.0F    ? INT32_MAX
                  : x >= -2147483648.0F ? (int32_t)x
                  : x < -2147483648.0F  ? INT32_MIN
                                        : 0)
TINYRT_CONVERSION(tinyrt_f32_to_s64, float, int64_t,
                  x >= 9223372036854775808.0F    ? INT64_MAX
                  : x >= -9223372036854775808.0F ? (int64_t)x
                  : x < -9223372036854775808.0F  ? INT64_MIN
                                                 : 0)
TINYRT_CONVERSION(tinyrt_f32_to_u8, float, uint8_t,
                  x >= 256.0F ? UINT8_MAX
                  : x > 0.0F  ? (uint8_t)x
                              : 0)
TINYRT_CONVERSION(tinyrt_f32_to_b8, float, uint8_t, x < 0.0F || x > 0.0F || x != x)
TINYRT_CONVERSION(tinyrt_s32_to_f32, int32_t, float, x)
TINYRT_CONVERSION(tinyrt_s32_to_s64, int32_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_s32_to_b8, int32_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_s32_to_u8, int32_t, uint8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_s64_to_f32, int64_t, float, x)
TINYRT_CONVERSION(tinyrt_s64_to_s32, int64_t, int32_t, (uint32_t)x)
TINYRT_CONVERSION(tinyrt_s64_to_b8, int64_t, uint8_t, x != 0)
TINYRT_CONVERSION(tinyrt_s64_to_u8, int64_t, uint8_t, (uint8_t)x)
TINYRT_CONVERSION(tinyrt_b8_to_f32, uint8_t, float, x)
TINYRT_CONVERSION(tinyrt_b8_to_s32, uint8_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_s64, uint8_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_b8_to_u8, uint8_t, uint8_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_f32, uint8_t, float, x)
TINYRT_CONVERSION(tinyrt_u8_to_s32, uint8_t, int32_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_s64, uint8_t, int64_t, x)
TINYRT_CONVERSION(tinyrt_u8_to_b8, uint8_t, uint8_t, x != 0)

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
