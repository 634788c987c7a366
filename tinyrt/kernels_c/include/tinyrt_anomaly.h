/** How far the output of an autoencoder is from its input, and when that is an alarm. */
#ifndef TINYRT_ANOMALY_H
#define TINYRT_ANOMALY_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Multipliers are in [0, 4096]. A sum of squares above the limit is not normal; consecutive ones
 *  are an alarm. */
typedef struct {
    int32_t size;
    int32_t x_zp;
    int32_t y_zp;
    int32_t x_mult;
    int32_t y_mult;
    int32_t consecutive;
    uint64_t limit;
} tinyrt_anomaly_params;

/** Sets sum to the squares of (x - x_zp) * x_mult - (y - y_zp) * y_mult, divided by 32 and rounded
 *  before. The state is an int32, 0 at first: how many sums in a row were above the limit. Returns
 *  whether there is an alarm. */
int32_t tinyrt_anomaly_s8(const tinyrt_anomaly_params *p, const int8_t *x, const int8_t *y,
                          int32_t *state, uint64_t *sum);

#ifdef __cplusplus
}
#endif

#endif
