#include "tinyrt_anomaly.h"

#include "tinyrt_alarm.h"

/* Products of 64 bits are added by one instruction: no sign has to go before. */
int32_t tinyrt_anomaly_s8(const tinyrt_anomaly_params *p, const int8_t *x, const int8_t *y,
                          int32_t *state, uint64_t *sum) {
    const int32_t same = tinyrt_without_difference(p);
    const int32_t x_mult = p->x_mult;
    const int32_t y_mult = p->y_mult;
    int64_t squares = 0;
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t difference = (same + (x[i] * x_mult) - (y[i] * y_mult)) >> 5;
        squares += (int64_t)difference * difference;
    }
    *sum = (uint64_t)squares;
    return tinyrt_alarm(p, (uint64_t)squares, state);
}
