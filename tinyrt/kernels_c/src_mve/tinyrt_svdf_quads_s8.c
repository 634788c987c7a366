#include "tinyrt_svdf_quads.h"

#include "tinyrt_mve.h"

/** The products of a unit's state with its weights. */
static inline int32_t past(const int8_t *state, const int8_t *weights, int32_t length) {
    int32_t sum = 0;
    for (; length >= 16; length -= 16) {
        sum = vmladavaq_s8(sum, vldrbq_s8(state), vldrbq_s8(weights));
        state += 16;
        weights += 16;
    }
    if (length > 0) {
        const mve_pred16_t lanes = vctp8q((uint32_t)length);
        sum = vmladavaq_s8(sum, vldrbq_z_s8(state, lanes), vldrbq_z_s8(weights, lanes));
    }
    return sum;
}

#define TINYRT_KERNEL tinyrt_svdf_quads_s8
#define TINYRT_STATE int8_t
#define TINYRT_STATE_MIN INT8_MIN
#define TINYRT_STATE_MAX INT8_MAX
#define TINYRT_SCATTER vstrbq_scatter_offset_p_s32
#define TINYRT_PAST past
#include "tinyrt_svdf_quads_loop.h"
