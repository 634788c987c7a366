/** logistic and tanh of int16 values, by one table. */
#ifndef TINYRT_SIGMOID_S16_H
#define TINYRT_SIGMOID_S16_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Inputs times mult, shifted right with rounding, are the table's positions.
 *  table: sigmoid(i / 24) in Q0.16 without a sign, for i in 0 to 255; with DSP instructions or
 * vectors -tanh(i / 48) in Q0.15, for i in -1 to 255. */
typedef struct {
    int32_t size;
    int32_t mult;
    int32_t right;
    const int16_t *table;
} tinyrt_sigmoid_s16_params;

/** y = 1 / (1 + exp(-x)) at scale 2^-15. y may be x. */
void tinyrt_logistic_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

/** y = tanh(x) at scale 2^-15. y may be x. */
void tinyrt_tanh_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

/** As tinyrt_logistic_s16. Requires: mult < 2^15, with DSP instructions right <= 17, too, and
 *  mult << (17 - right) < 2^31. */
void tinyrt_logistic_short_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

/** As tinyrt_tanh_s16. Requires: as tinyrt_logistic_short_s16. */
void tinyrt_tanh_short_s16(const tinyrt_sigmoid_s16_params *p, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
