/** Parameters of layers whose window slides over height and width. */
#ifndef TINYRT_WINDOW_PARAMS_H
#define TINYRT_WINDOW_PARAMS_H

#include "tinyrt_types.h"

/** Of int8 activations and weights. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t x_zp;
    tinyrt_requant_params requant;
} tinyrt_window_s8_params, tinyrt_transpose_conv_s8_params;

/** Of floats. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    float act_min;
    float act_max;
} tinyrt_depthwise_conv2d_f32_params, tinyrt_transpose_conv_f32_params;

/** Of floats, in groups of channels. */
typedef struct {
    tinyrt_nhwc x;
    tinyrt_nhwc y;
    tinyrt_window window;
    int32_t groups;
    float act_min;
    float act_max;
} tinyrt_conv2d_f32_params;

#endif
