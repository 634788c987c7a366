#include "tinyrt_lstm_block.h"

#include "tinyrt_lstm_gate.h"
#include "tinyrt_narrow.h"
#include "tinyrt_row_s4.h"

/** What a unit's products with a row add to its gates. Returns the end of w. */
static inline const int32_t *tinyrt_lstm_products(const tinyrt_lstm_gate_scales *scales,
                                                  const int32_t *w, const tinyrt_row_s4 *row,
                                                  const int32_t *start, int32_t *gate) {
    const int32_t x16 = row->x16;
    int32_t sum[4];
    tinyrt_start_s4(start, sum);
    w = tinyrt_dot_of_row_s4(w, row, sum);
    gate[0] = tinyrt_lstm_gate(&scales->input, tinyrt_doubled_0(sum, x16));
    gate[1] = tinyrt_lstm_gate(&scales->forget, tinyrt_doubled_1(sum, x16));
    gate[2] = tinyrt_lstm_gate(&scales->cell, tinyrt_doubled_2(sum, x16));
    gate[3] = tinyrt_lstm_gate(&scales->output, tinyrt_doubled_3(sum, start[3]));
    return w;
}

/** The next unit's gates. */
static TINYRT_NOINLINE void tinyrt_lstm_next_gates(const tinyrt_lstm_block_s8_params *p,
                                                   tinyrt_lstm_packed *next, const tinyrt_row_s4 *x,
                                                   const tinyrt_row_s4 *h, int32_t *gate) {
    int32_t of_h[4];
    next->w = tinyrt_lstm_products(&p->from_x, next->w, x, next->start, gate);
    next->r = tinyrt_lstm_products(&p->from_h, next->r, h, next->restart, of_h);
    next->start += 4;
    next->restart += 4;
    for (int32_t i = 0; i < 4; ++i) {
        gate[i] = tinyrt_saturate_s16(gate[i] + of_h[i]);
    }
}

#define TINYRT_KERNEL tinyrt_lstm_block_s4
#define TINYRT_PARAMS tinyrt_lstm_block_s8_params
#define TINYRT_X int8_t
#define TINYRT_LIMIT tinyrt_saturate
#define TINYRT_ROW tinyrt_row_s4
#define TINYRT_ROW_OF tinyrt_row_s4_of
#define TINYRT_WALK tinyrt_lstm_packed
#define TINYRT_UNITS 1
#define TINYRT_STARTS const int32_t *start, const int32_t *restart
#define TINYRT_STARTS_AT start, restart
#include "tinyrt_lstm_block_loop.h"
