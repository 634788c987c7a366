/** fully_connected, rounded as uint8 files have it. */
#ifndef TINYRT_FULLY_CONNECTED_LEGACY_H
#define TINYRT_FULLY_CONNECTED_LEGACY_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where outputs go up: last[i] is the last sum whose output is act_min + i or less. */
typedef struct {
    int32_t rows;
    int32_t c_in;
    int32_t c_out;
    int32_t act_min;
    int32_t steps;
    const int32_t *last;
} tinyrt_fully_connected_legacy_s8_params;

/** As tinyrt_fully_connected_s8, rounded by any rule that never goes down as sums go up.
 *  Requires: bias has -x_zp * sum(w) in it. It may wrap; sums with all of their products do not. At
 *  most 255 steps. */
void tinyrt_fully_connected_legacy_s8(const tinyrt_fully_connected_legacy_s8_params *p,
                                      const int8_t *x, const int8_t *w, const int32_t *bias,
                                      int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
