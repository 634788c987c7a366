#include "tinyrt_lstm.h"

#include "tinyrt_float.h"
#include "tinyrt_lstm_strides.h"

static float products(const float *a, const float *b, int32_t length, float sum) {
    for (int32_t i = 0; i < length; ++i) {
        sum = tinyrt_mlaf(sum, a[i], b[i]);
    }
    return sum;
}

/** Changes the cell state; returns the hidden state. */
static float unit_of(const tinyrt_lstm_f32_params *p, const float gate[4], float before,
                     float *after) {
    float cell = tinyrt_logisticf(gate[1]) * before + tinyrt_logisticf(gate[0]) * tanhf(gate[2]);
    if (p->cell_clip > 0.0F) {
        cell = tinyrt_clampf(cell, -p->cell_clip, p->cell_clip);
    }
    *after = cell;
    return tinyrt_logisticf(gate[3]) * tanhf(cell);
}

void tinyrt_lstm_f32(const tinyrt_lstm_f32_params *p, const float *x, const float *w,
                     const float *r, const float *bias, const float *h_before,
                     const float *c_before, float *h_after, float *c_after, float *y) {
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->units);
    for (int32_t n = 0; n < p->samples; ++n) {
        const float *hidden = h_before + n * p->units;
        const float *cell = c_before + n * p->units;
        float *const next = c_after + n * p->units;
        for (int32_t t = 0; t < p->steps; ++t) {
            const float *const from = x + n * in.sample + t * in.step;
            float *const to = y + n * out.sample + t * out.step;
            for (int32_t u = 0; u < p->units; ++u) {
                float gate[4];
                for (int32_t g = 0; g < 4; ++g) {
                    const int32_t row = g * p->units + u;
                    gate[g] = products(from, w + row * p->c_in, p->c_in, bias[row]);
                    gate[g] = products(hidden, r + row * p->units, p->units, gate[g]);
                }
                to[u] = unit_of(p, gate, cell[u], next + u);
            }
            hidden = to;
            cell = next;
        }
        for (int32_t u = 0; u < p->units; ++u) {
            h_after[n * p->units + u] = hidden[u];
        }
    }
}
