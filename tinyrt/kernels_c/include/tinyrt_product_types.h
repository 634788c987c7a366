/** What matrix products on cores with MVE share, whatever the weights' format. */
#ifndef TINYRT_PRODUCT_TYPES_H
#define TINYRT_PRODUCT_TYPES_H

#include "tinyrt_types.h"

/** What all patches share. Of every four filters, the weights lie interleaved: 16 bytes of each,
 *  the first block filled up with zeros in front; filters are added so that their number is a
 *  multiple of four. bias contains what the input's zero point adds.
 *  only_positive: act_min >= y_zp and no exponent is above 0.
 *  Requires: 1 <= length < 2^20. */
typedef struct {
    int32_t length;
    int32_t c_out;
    int32_t only_positive;
    tinyrt_requant_params requant;
} tinyrt_product_s8_params;

#endif
