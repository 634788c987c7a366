#include "tinyrt_anomaly.h"

int32_t tinyrt_anomaly_s8(const tinyrt_anomaly_params *p, const int8_t *x, const int8_t *y,
                          int32_t *state, uint64_t *sum) {
    uint64_t squares = 0;
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t difference =
            (((x[i] - p->x_zp) * p->x_mult) - ((y[i] - p->y_zp) * p->y_mult) + 16) >> 5;
        const uint32_t far = (uint32_t)((difference < 0) ? -difference : difference);
        const uint32_t square = far * far;
        squares += square;
    }
    *sum = squares;
    if (squares <= p->limit) {
        *state = 0;
    } else if (*state < p->consecutive) {
        ++*state;
    } else {
        /* It is not counted further. */
    }
    return *state == p->consecutive;
}
