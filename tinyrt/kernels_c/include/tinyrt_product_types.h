/** What matrix products on cores with MVE share, whatever the weights' format. */
#ifndef TINYRT_PRODUCT_TYPES_H
#define TINYRT_PRODUCT_TYPES_H

#include "tinyrt_types.h"

/** How products are rounded: outputs are clamped to all of int8, and either no shift is above 0 and
 *  all results below zero give the same output, or all shifts are below 0; or anything else. */
enum { TINYRT_ROUNDING_POSITIVE, TINYRT_ROUNDING_SIGNED, TINYRT_ROUNDING_ANY };

/** Words that requantise four channels: biases, mantissas, and bytes that are shifts. */
#define TINYRT_SCALE_WORDS 9

/** What all patches share. Of every four filters, the weights lie interleaved: 16 bytes of each,
 *  the first block filled up with zeros in front; filters are added so that their number is a
 *  multiple of four.
 *  Requires: 1 <= length < 2^20. */
typedef struct {
    int32_t length;
    int32_t c_out;
    int32_t rounding;
    int32_t y_zp;
    int32_t act_min;
    int32_t act_max;
} tinyrt_product_s8_params;

/** Biases, mantissas and shifts of channels, and how many elements further those of the next four
 *  channels begin. Steps of mult and shift may be 0: then one serves all channels. */
typedef struct {
    const int32_t *bias;
    const int32_t *mult;
    const int8_t *shift;
    int32_t bias_step;
    int32_t mult_step;
    int32_t shift_step;
} tinyrt_product_scales;

#endif
