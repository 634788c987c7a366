#include "tinyrt_lstm.h"

#include "tinyrt_lstm_strides.h"
#include "tinyrt_lstm_unit.h"

static int64_t products(const int16_t *a, const int8_t *b, int32_t length, int64_t acc) {
    for (int32_t i = 0; i < length; ++i) {
        acc += a[i] * b[i];
    }
    return acc;
}

static int16_t requant(const tinyrt_lstm_params *p, int32_t i, int64_t acc) {
    const int32_t right = p->shift[i];
    const int64_t value = (acc * p->mult[i] + (INT64_C(1) << (right - 1))) >> right;
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return value > INT16_MAX ? INT16_MAX : (int16_t)value;
}

void tinyrt_lstm_s16(const tinyrt_lstm_params *p, const int16_t *x, const int8_t *w,
                     const int8_t *r, const int64_t *start, const int16_t *h_before,
                     const int16_t *c_before, int16_t *h_after, int16_t *c_after, int16_t *y) {
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->units);
    for (int32_t n = 0; n < p->samples; ++n) {
        const int16_t *hidden = h_before + n * p->units;
        const int16_t *cell = c_before + n * p->units;
        int16_t *const next = c_after + n * p->units;
        for (int32_t t = 0; t < p->steps; ++t) {
            const int16_t *const from = x + n * in.sample + t * in.step;
            int16_t *const to = y + n * out.sample + t * out.step;
            for (int32_t u = 0; u < p->units; ++u) {
                int16_t gate[4];
                for (int32_t g = 0; g < 4; ++g) {
                    const int32_t row = g * p->units + u;
                    const int64_t of_x = products(from, w + row * p->c_in, p->c_in, start[row]);
                    const int64_t of_h = products(hidden, r + row * p->units, p->units, 0);
                    gate[g] = tinyrt_lstm_saturate(requant(p, g, of_x) + requant(p, 4 + g, of_h));
                }
                to[u] = tinyrt_lstm_saturate(tinyrt_lstm_unit(p, gate, cell[u], next + u));
            }
            hidden = to;
            cell = next;
        }
        for (int32_t u = 0; u < p->units; ++u) {
            h_after[n * p->units + u] = hidden[u];
        }
    }
}
