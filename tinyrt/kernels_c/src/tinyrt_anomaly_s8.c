#include "tinyrt_anomaly.h"

#include "tinyrt_alarm.h"

int32_t tinyrt_anomaly_s8(const tinyrt_anomaly_params *p, const int8_t *x, const int8_t *y,
                          int32_t *state, uint64_t *sum) {
    const int32_t same = tinyrt_without_difference(p);
    uint64_t squares = 0;
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t difference = (same + (x[i] * p->x_mult) - (y[i] * p->y_mult)) >> 5;
        const uint32_t far = (uint32_t)((difference < 0) ? -difference : difference);
        const uint32_t square = far * far;
        squares += square;
    }
    *sum = squares;
    return tinyrt_alarm(p, squares, state);
}
