/** An LSTM over packed weights as the function TINYRT_KERNEL, where this is included: TINYRT_PARAMS
 *  is the type of its parameters, TINYRT_X that of inputs and hidden states, which TINYRT_LIMIT
 *  limits a value to. A TINYRT_ROW is what TINYRT_ROW_OF makes of a vector for products.
 *  TINYRT_UNITS are computed together. TINYRT_STARTS declares the kernel's parameters that sums
 *  begin with, and TINYRT_STARTS_AT names them. Before, a source defines TINYRT_WALK, of the
 *  weights w and r and of these, and tinyrt_lstm_next_gates(p, walk, x, h, gate), which goes on to
 *  the next units. */
#ifndef TINYRT_LSTM_BLOCK_LOOP_H
#define TINYRT_LSTM_BLOCK_LOOP_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_lstm_block.h"
#include "tinyrt_lstm_strides.h"
#include "tinyrt_sigmoid_of.h"
#include "tinyrt_simd.h"

/** Of a product of two int16, limited to an int16's range. */
static inline int32_t tinyrt_lstm_scaled(const tinyrt_lstm_unit_scale *scale, int32_t product) {
    const int32_t high = tinyrt_doubling_high_mul(product, scale->mult);
    return tinyrt_saturate_s16((high + (high >> 31) + scale->half) >> scale->right);
}

/** A unit's new cell state, and its hidden state. */
static TINYRT_NOINLINE TINYRT_X tinyrt_lstm_unit_of(const TINYRT_PARAMS *p, const int32_t *gate,
                                                    int32_t before, int16_t *after) {
    const int16_t *const table = p->state.table;
    const int32_t kept =
        tinyrt_lstm_scaled(&p->forget, tinyrt_logistic_inside(table, 3 * gate[1]) * before);
    const int32_t in = tinyrt_logistic_inside(table, 3 * gate[0]);
    const int32_t update = tinyrt_lstm_scaled(&p->update, in * tinyrt_tanh_of(table, 3 * gate[2]));
    int32_t cell = tinyrt_saturate_s16(kept + update);
    if (p->state.cell_clip > 0) {
        cell = tinyrt_clamp(cell, -p->state.cell_clip, p->state.cell_clip);
    }
    *after = (int16_t)cell;
    const int32_t rounding = (int32_t)((UINT32_C(1) << p->state.tanh_right) >> 1);
    const int32_t position = ((cell * p->state.tanh_mult) + rounding) >> p->state.tanh_right;
    const int32_t out = tinyrt_logistic_inside(table, 3 * gate[3]);
    const int32_t shown = out * tinyrt_tanh_of(table, position);
    return (TINYRT_X)TINYRT_LIMIT(p->state.h_zp + tinyrt_lstm_scaled(&p->output, shown));
}

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const int32_t *w, const int32_t *r,
                   TINYRT_STARTS, const TINYRT_X *h_before, const int16_t *c_before,
                   TINYRT_X *h_after, int16_t *c_after, TINYRT_X *y) {
    const int32_t units = p->shape.units;
    const tinyrt_lstm_strides in = tinyrt_lstm_strides_of(&p->shape, p->shape.c_in);
    const tinyrt_lstm_strides out = tinyrt_lstm_strides_of(&p->shape, units);
    for (int32_t n = 0; n < p->shape.samples; ++n) {
        const TINYRT_X *hidden = h_before + (n * units);
        const int16_t *cell = c_before + (n * units);
        int16_t *const after = c_after + (n * units);
        for (int32_t t = 0; t < p->shape.steps; ++t) {
            const TINYRT_ROW of_x =
                TINYRT_ROW_OF(x + (n * in.sample) + (t * in.step), p->shape.c_in);
            const TINYRT_ROW of_h = TINYRT_ROW_OF(hidden, units);
            TINYRT_WALK next = {w, r, TINYRT_STARTS_AT};
            TINYRT_X *const to = y + (n * out.sample) + (t * out.step);
            for (int32_t u = 0; u < units;) {
                int32_t gate[4 * TINYRT_UNITS];
                tinyrt_lstm_next_gates(p, &next, &of_x, &of_h, gate);
                for (int32_t i = 0; (i < TINYRT_UNITS) && (u < units); ++i, ++u) {
                    to[u] = tinyrt_lstm_unit_of(p, gate + (4 * i), cell[u], after + u);
                }
            }
            hidden = to;
            cell = after;
        }
        for (int32_t u = 0; u < units; ++u) {
            h_after[(n * units) + u] = hidden[u];
        }
    }
}

#endif
