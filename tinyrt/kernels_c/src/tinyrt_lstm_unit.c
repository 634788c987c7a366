#include "tinyrt_lstm_unit.h"

#include "tinyrt_sigmoid_far.h"
#include "tinyrt_sigmoid_of.h"

int32_t tinyrt_lstm_unit(const tinyrt_lstm_params *p, const int16_t gate[4], int16_t before,
                         int16_t *after) {
    const int16_t *const table = p->state.table;
    const tinyrt_sigmoid_s16_params cells = {1, p->state.tanh_mult, p->state.tanh_right, table};
    const int32_t kept = tinyrt_requant(tinyrt_logistic_inside(table, 3 * gate[1]) * before,
                                        p->forget_mult, p->forget_shift);
    const int32_t update = tinyrt_requant(tinyrt_logistic_inside(table, 3 * gate[0]) *
                                              tinyrt_tanh_of(table, 3 * gate[2]),
                                          p->update_mult, p->update_shift);
    int32_t cell = tinyrt_lstm_saturate(kept) + tinyrt_lstm_saturate(update);
    cell = tinyrt_lstm_saturate(cell);
    if (p->state.cell_clip > 0) {
        cell = tinyrt_clamp(cell, -p->state.cell_clip, p->state.cell_clip);
    }
    *after = (int16_t)cell;
    const int32_t shown = tinyrt_logistic_inside(table, 3 * gate[3]) *
                          tinyrt_tanh_of(table, tinyrt_sigmoid_position(&cells, cell));
    return p->state.h_zp + tinyrt_requant(shown, p->output_mult, p->output_shift);
}
