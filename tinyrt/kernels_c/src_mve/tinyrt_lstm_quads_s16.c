#include "tinyrt_lstm_quads.h"

#include "tinyrt_mve_dot16.h"

static inline int32x4_t from_x(const tinyrt_lstm_quads_mults *gate, int32x4_t sums,
                               const int32_t *start) {
    return vrmulhq_s32(vaddq_s32(sums, vldrwq_s32(start)), vdupq_n_s32(gate->x));
}

static inline int32x4_t from_h(const tinyrt_lstm_quads_mults *gate, int32x4_t sums,
                               const int32_t *start) {
    (void)start;
    return vrmulhq_s32(sums, vdupq_n_s32(gate->h));
}

#define TINYRT_KERNEL tinyrt_lstm_quads_s16
#define TINYRT_PARAMS tinyrt_lstm_quads_s16_params
#define TINYRT_GATE tinyrt_lstm_quads_mults
#define TINYRT_X int16_t
#define TINYRT_DOT tinyrt_mve_next_dot16
#define TINYRT_OF_X from_x
#define TINYRT_OF_H from_h
#define TINYRT_STARTS 4
#define TINYRT_LOW INT16_MIN
#define TINYRT_HIGH INT16_MAX
#define TINYRT_STORE(y, value, lanes) vstrhq_p_s32(y, value, lanes)
#include "tinyrt_lstm_quads_loop.h"
