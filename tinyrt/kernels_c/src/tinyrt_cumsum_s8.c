#include "tinyrt_cumsum.h"

#include "tinyrt_fixedpoint.h"

#define LEFT_SHIFT 19

static int32_t raised(int32_t value) {
    return tinyrt_shift_left(value, LEFT_SHIFT);
}

static int32_t wrapped_sum(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static void sum_line(const tinyrt_cumsum_s8_params *p, int32_t first, int32_t step, const int8_t *x,
                     int8_t *y) {
    int32_t sum = raised(-p->x_zp);
    int32_t at = first;
    for (int32_t i = 0; i < p->depth; i++) {
        const int32_t next = wrapped_sum(sum, raised(x[at] - p->x_zp));
        const int32_t scaled = tinyrt_requant(p->exclusive ? sum : next, p->y_mult, p->y_shift);
        y[at] = tinyrt_to_s8(scaled, p->y_zp, INT8_MIN, INT8_MAX);
        sum = next;
        at += step;
    }
}

void tinyrt_cumsum_s8(const tinyrt_cumsum_s8_params *p, const int8_t *x, int8_t *y) {
    const int32_t last = (p->depth - 1) * p->inner;
    for (int32_t outer = 0; outer < p->outer; outer++) {
        for (int32_t inner = 0; inner < p->inner; inner++) {
            const int32_t front = (outer * p->depth * p->inner) + inner;
            sum_line(p, p->reverse ? (front + last) : front, p->reverse ? -p->inner : p->inner, x,
                     y);
        }
    }
}
