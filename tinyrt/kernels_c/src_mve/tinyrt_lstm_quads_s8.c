#include "tinyrt_lstm_quads.h"

#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_rescale.h"

static inline int32x4_t from_x(const tinyrt_lstm_quads_gate *gate, int32x4_t sums,
                               const int32_t *start) {
    return tinyrt_mve_rescale(&gate->x, vaddq_s32(sums, vldrwq_s32(start)));
}

static inline int32x4_t from_h(const tinyrt_lstm_quads_gate *gate, int32x4_t sums,
                               const int32_t *start) {
    return tinyrt_mve_rescale(&gate->h, vaddq_s32(sums, vldrwq_s32(start + 4)));
}

#define TINYRT_KERNEL tinyrt_lstm_quads_s8
#define TINYRT_PARAMS tinyrt_lstm_quads_s8_params
#define TINYRT_GATE tinyrt_lstm_quads_gate
#define TINYRT_X int8_t
#define TINYRT_DOT tinyrt_mve_next_dot
#define TINYRT_OF_X from_x
#define TINYRT_OF_H from_h
#define TINYRT_STARTS 8
#define TINYRT_LOW INT8_MIN
#define TINYRT_HIGH INT8_MAX
#define TINYRT_STORE(y, value, lanes) vstrbq_p_s32(y, value, lanes)
#include "tinyrt_lstm_quads_loop.h"
