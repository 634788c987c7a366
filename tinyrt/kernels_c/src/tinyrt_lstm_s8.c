#include "tinyrt_lstm.h"

#include "tinyrt_lstm_unit.h"

/** The sum that gate g of a unit takes its function of. */
static int16_t gate_of(const tinyrt_lstm_params *p, int32_t g, int32_t from_x, int32_t from_h) {
    const int32_t x = tinyrt_requant(from_x, p->mult[g], p->shift[g]);
    const int32_t h = tinyrt_requant(from_h, p->mult[4 + g], p->shift[4 + g]);
    return tinyrt_lstm_saturate(tinyrt_lstm_saturate(x) + tinyrt_lstm_saturate(h));
}

static inline int8_t unit_of(const tinyrt_lstm_params *p, const int16_t gate[4], int16_t before,
                             int16_t *after) {
    const int32_t value = tinyrt_lstm_unit(p, gate, before, after);
    return (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
}

#define TINYRT_KERNEL tinyrt_lstm_s8
#define TINYRT_PARAMS tinyrt_lstm_params
#define TINYRT_X int8_t
#define TINYRT_CELL int16_t
#define TINYRT_W int8_t
#define TINYRT_SUM int32_t
#define TINYRT_ADD_PRODUCT(sum, x, w) ((sum) + (x) * (w))
#define TINYRT_STARTS const int32_t *start, const int32_t *restart
#define TINYRT_START(row) start[row]
#define TINYRT_RESTART(row, of_x) restart[row]
#define TINYRT_GATE gate_of
#define TINYRT_UNIT unit_of
#include "tinyrt_lstm_loop.h"
