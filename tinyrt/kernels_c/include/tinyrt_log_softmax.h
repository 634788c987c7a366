/** log_softmax over the last axis in fixed point. */
#ifndef TINYRT_LOG_SOFTMAX_H
#define TINYRT_LOG_SOFTMAX_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** exponentials: exp of minus i steps of x in Q12.19, for i in 0 to 255; differences: minus i
 *  steps in Q5.26; back_mult and back_shift bring Q5.26 to steps; differences below diff_min
 *  count for nothing. Requires: c < 2^12. */
typedef struct {
    int32_t rows;
    int32_t c;
    const int32_t *exponentials;
    const int32_t *differences;
    int32_t back_mult;
    int32_t back_shift;
    int32_t diff_min;
} tinyrt_log_softmax_s8_params;

/** y = x - max - log(sum(exp(x - max))) at scale 1/16 and zero point 127. y may be x. */
void tinyrt_log_softmax_s8(const tinyrt_log_softmax_s8_params *p, const int8_t *x, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
