#include "tinyrt_lstm.h"

#include "tinyrt_float.h"

/** Changes the cell state; returns the hidden state. */
static float unit_of(const tinyrt_lstm_f32_params *p, const float gate[4], float before,
                     float *after) {
    float cell = (tinyrt_logisticf(gate[1]) * before) + tinyrt_logisticf(gate[0]) * tanhf(gate[2]);
    if (p->cell_clip > 0.0F) {
        cell = tinyrt_clampf(cell, -p->cell_clip, p->cell_clip);
    }
    *after = cell;
    return tinyrt_logisticf(gate[3]) * tanhf(cell);
}

#define TINYRT_KERNEL tinyrt_lstm_f32
#define TINYRT_PARAMS tinyrt_lstm_f32_params
#define TINYRT_X float
#define TINYRT_CELL float
#define TINYRT_W float
#define TINYRT_SUM float
#define TINYRT_ADD_PRODUCT(sum, x, w) tinyrt_mlaf(sum, x, w)
#define TINYRT_STARTS const float *bias
#define TINYRT_START(row) bias[row]
#define TINYRT_RESTART(row, of_x) (of_x)
#define TINYRT_GATE(p, g, of_x, of_h) (of_h)
#define TINYRT_UNIT unit_of
#include "tinyrt_lstm_loop.h"
