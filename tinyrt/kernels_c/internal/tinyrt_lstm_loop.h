/** An LSTM as the function TINYRT_KERNEL, where this is included: TINYRT_PARAMS is the type of its
 *  parameters, TINYRT_X that of inputs and hidden states, TINYRT_CELL that of gates and cell
 *  states, TINYRT_W that of weights, TINYRT_SUM that of sums.
 *  TINYRT_STARTS declares the kernel's parameters that sums begin with: TINYRT_START(row) those of
 *  products with x, TINYRT_RESTART(row, of_x) those with the hidden state, where of_x is the sum of
 *  the former. TINYRT_ADD_PRODUCT(sum, x, w) is a sum and one more product.
 *  TINYRT_GATE(p, g, of_x, of_h) is what both sums make of gate g, TINYRT_UNIT(p, gate, before,
 *  after) the new hidden state; it changes the cell state. */
#ifndef TINYRT_LSTM_LOOP_H
#define TINYRT_LSTM_LOOP_H

#include "tinyrt_lstm_strides.h"

static TINYRT_SUM tinyrt_lstm_products(const TINYRT_X *x, const TINYRT_W *w, int32_t length,
                                       TINYRT_SUM sum) {
    for (int32_t i = 0; i < length; ++i) {
        sum = TINYRT_ADD_PRODUCT(sum, x[i], w[i]);
    }
    return sum;
}

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const TINYRT_W *w, const TINYRT_W *r,
                   TINYRT_STARTS, const TINYRT_X *h_before, const TINYRT_CELL *c_before,
                   TINYRT_X *h_after, TINYRT_CELL *c_after, TINYRT_X *y) {
    const tinyrt_lstm_strides in = tinyrt_lstm_strides_of(&p->shape, p->shape.c_in);
    const tinyrt_lstm_strides out = tinyrt_lstm_strides_of(&p->shape, p->shape.units);
    for (int32_t n = 0; n < p->shape.samples; ++n) {
        const TINYRT_X *hidden = h_before + (n * p->shape.units);
        const TINYRT_CELL *cell = c_before + (n * p->shape.units);
        TINYRT_CELL *const next = c_after + (n * p->shape.units);
        for (int32_t t = 0; t < p->shape.steps; ++t) {
            const TINYRT_X *const from = x + (n * in.sample) + (t * in.step);
            TINYRT_X *const to = y + (n * out.sample) + (t * out.step);
            for (int32_t u = 0; u < p->shape.units; ++u) {
                TINYRT_CELL gate[4];
                for (int32_t g = 0; g < 4; ++g) {
                    const int32_t row = (g * p->shape.units) + u;
                    const TINYRT_SUM of_x = tinyrt_lstm_products(from, w + (row * p->shape.c_in),
                                                                 p->shape.c_in, TINYRT_START(row));
                    const TINYRT_SUM of_h =
                        tinyrt_lstm_products(hidden, r + (row * p->shape.units), p->shape.units,
                                             TINYRT_RESTART(row, of_x));
                    gate[g] = TINYRT_GATE(p, g, of_x, of_h);
                }
                to[u] = TINYRT_UNIT(p, gate, cell[u], next + u);
            }
            hidden = to;
            cell = next;
        }
        for (int32_t u = 0; u < p->shape.units; ++u) {
            h_after[(n * p->shape.units) + u] = hidden[u];
        }
    }
}

#endif
