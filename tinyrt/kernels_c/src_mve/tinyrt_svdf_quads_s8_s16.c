#include "tinyrt_svdf_quads.h"

#include "tinyrt_mve.h"

/** The products of a unit's state with its weights. */
static inline int32_t past(const int16_t *state, const int16_t *weights, int32_t length) {
    int32_t sum = 0;
    for (; length >= 8; length -= 8) {
        sum = vmladavaq_s16(sum, vldrhq_s16(state), vldrhq_s16(weights));
        state += 8;
        weights += 8;
    }
    if (length > 0) {
        const mve_pred16_t lanes = vctp16q((uint32_t)length);
        sum = vmladavaq_s16(sum, vldrhq_z_s16(state, lanes), vldrhq_z_s16(weights, lanes));
    }
    return sum;
}

#define TINYRT_KERNEL tinyrt_svdf_quads_s8_s16
#define TINYRT_STATE int16_t
#define TINYRT_STATE_MIN INT16_MIN
#define TINYRT_STATE_MAX INT16_MAX
#define TINYRT_SCATTER vstrhq_scatter_shifted_offset_p_s32
#define TINYRT_PAST past
#include "tinyrt_svdf_quads_loop.h"
