/** resize_bilinear: images of another height and width, weighted means of four pixels. */
#ifndef TINYRT_RESIZE_BILINEAR_H
#define TINYRT_RESIZE_BILINEAR_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** For every output along one axis: where in x the two inputs that it lies between begin, in
 *  elements. */
typedef struct {
    int32_t size;
    const int32_t *first;
    const int32_t *second;
} tinyrt_between;

/** n images of x_size elements and c channels; shares of the second input in 1/1024. */
typedef struct {
    int32_t n;
    int32_t x_size;
    int32_t c;
    tinyrt_between rows;
    tinyrt_between columns;
    const int16_t *row_share;
    const int16_t *column_share;
} tinyrt_resize_bilinear_s8_params;

/** y = sum(x * row share * column share) / 2^20, raw values, halves away from zero. y comes
 *  from the front: it may overlap x if it writes nothing before it is read. */
void tinyrt_resize_bilinear_s8(const tinyrt_resize_bilinear_s8_params *p, const int8_t *x,
                               int8_t *y);

/** As for int8, with shares as floats. */
typedef struct {
    int32_t n;
    int32_t x_size;
    int32_t c;
    tinyrt_between rows;
    tinyrt_between columns;
    const float *row_share;
    const float *column_share;
} tinyrt_resize_bilinear_f32_params;

/** y = sum(x * row share * column share). y may overlap x as for int8. */
void tinyrt_resize_bilinear_f32(const tinyrt_resize_bilinear_f32_params *p, const float *x,
                                float *y);

/** y = sum((x + 128) * row share * column share) - 128, in float32, from left to right and above
 *  before below, halves up: as on uint8. y may overlap x as above. */
void tinyrt_resize_legacy_s8(const tinyrt_resize_bilinear_f32_params *p, const int8_t *x,
                             int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
