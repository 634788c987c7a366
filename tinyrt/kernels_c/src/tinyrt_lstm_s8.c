#include "tinyrt_lstm.h"

#include "tinyrt_lstm_strides.h"
#include "tinyrt_lstm_unit.h"

static int32_t products(const int8_t *a, const int8_t *b, int32_t length, int32_t acc) {
    for (int32_t i = 0; i < length; ++i) {
        acc += a[i] * b[i];
    }
    return acc;
}

/** The sum that gate g of a unit takes its function of. */
static int16_t gate_of(const tinyrt_lstm_params *p, int32_t g, int32_t from_x, int32_t from_h) {
    const int32_t x = tinyrt_requant(from_x, p->mult[g], p->shift[g]);
    const int32_t h = tinyrt_requant(from_h, p->mult[4 + g], p->shift[4 + g]);
    return tinyrt_lstm_saturate(tinyrt_lstm_saturate(x) + tinyrt_lstm_saturate(h));
}

void tinyrt_lstm_s8(const tinyrt_lstm_params *p, const int8_t *x, const int8_t *w, const int8_t *r,
                    const int32_t *start, const int32_t *restart, const int8_t *h_before,
                    const int16_t *c_before, int8_t *h_after, int16_t *c_after, int8_t *y) {
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->units);
    for (int32_t n = 0; n < p->samples; ++n) {
        const int8_t *hidden = h_before + n * p->units;
        const int16_t *cell = c_before + n * p->units;
        int16_t *const next = c_after + n * p->units;
        for (int32_t t = 0; t < p->steps; ++t) {
            const int8_t *const from = x + n * in.sample + t * in.step;
            int8_t *const to = y + n * out.sample + t * out.step;
            for (int32_t u = 0; u < p->units; ++u) {
                int16_t gate[4];
                for (int32_t g = 0; g < 4; ++g) {
                    const int32_t row = g * p->units + u;
                    gate[g] = gate_of(p, g, products(from, w + row * p->c_in, p->c_in, start[row]),
                                      products(hidden, r + row * p->units, p->units, restart[row]));
                }
                const int32_t value = tinyrt_lstm_unit(p, gate, cell[u], next + u);
                to[u] = (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
            }
            hidden = to;
            cell = next;
        }
        for (int32_t u = 0; u < p->units; ++u) {
            h_after[n * p->units + u] = hidden[u];
        }
    }
}
