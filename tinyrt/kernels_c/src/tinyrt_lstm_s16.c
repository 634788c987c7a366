#include "tinyrt_lstm.h"

#include "tinyrt_lstm_unit.h"

static int16_t requant(const tinyrt_lstm_params *p, int32_t i, int64_t acc) {
    const int32_t right = p->shift[i];
    const int64_t value = ((acc * p->mult[i]) + (INT64_C(1) << (right - 1))) >> right;
    if (value < INT16_MIN) {
        return INT16_MIN;
    }
    return (value > INT16_MAX) ? INT16_MAX : (int16_t)value;
}

/** The sum that gate g of a unit takes its function of. */
static inline int16_t gate_of(const tinyrt_lstm_params *p, int32_t g, int64_t of_x, int64_t of_h) {
    return tinyrt_lstm_saturate(requant(p, g, of_x) + requant(p, 4 + g, of_h));
}

static inline int16_t unit_of(const tinyrt_lstm_params *p, const int16_t gate[4], int16_t before,
                              int16_t *after) {
    return tinyrt_lstm_saturate(tinyrt_lstm_unit(p, gate, before, after));
}

#define TINYRT_KERNEL tinyrt_lstm_s16
#define TINYRT_PARAMS tinyrt_lstm_params
#define TINYRT_X int16_t
#define TINYRT_CELL int16_t
#define TINYRT_W int8_t
#define TINYRT_SUM int64_t
#define TINYRT_ADD_PRODUCT(sum, x, w) ((sum) + (x) * (w))
#define TINYRT_STARTS const int64_t *start
#define TINYRT_START(row) start[row]
#define TINYRT_RESTART(row, of_x) 0
#define TINYRT_GATE gate_of
#define TINYRT_UNIT unit_of
#include "tinyrt_lstm_loop.h"
