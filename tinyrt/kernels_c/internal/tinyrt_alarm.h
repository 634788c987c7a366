/** What all forms of an anomaly's score share. */
#ifndef TINYRT_ALARM_H
#define TINYRT_ALARM_H

#include "tinyrt_anomaly.h"

/** What is added to x * x_mult - y * y_mult: zero points, and a half of 32 to round. */
static inline int32_t tinyrt_without_difference(const tinyrt_anomaly_params *p) {
    return ((p->y_zp * p->y_mult) - (p->x_zp * p->x_mult)) + 16;
}

/** Counts sums above the limit, one after the other. Returns whether there is an alarm. */
static inline int32_t tinyrt_alarm(const tinyrt_anomaly_params *p, uint64_t sum, int32_t *state) {
    if (sum <= p->limit) {
        *state = 0;
    } else if (*state < p->consecutive) {
        ++*state;
    } else {
        /* It is not counted further. */
    }
    return *state == p->consecutive;
}

#endif
