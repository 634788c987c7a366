#include "tinyrt_svdf_quads.h"

#include "tinyrt_mve.h"

/** The products of a unit's state with its weights, which go on by whole vectors. */
static inline int32_t past(const int16_t **state, const int16_t **weights, int32_t length) {
    const int16_t *of_state = *state;
    const int16_t *of_weights = *weights;
    int32_t sum = 0;
#if TINYRT_ASM_LOOPS
    __asm volatile("wlstp.16 lr, %[length], 2f\n"
                   "1:\n"
                   "vldrh.16 q0, [%[state]], #16\n"
                   "vldrh.16 q1, [%[weights]], #16\n"
                   "vmladava.s16 %[sum], q0, q1\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   : [sum] "+Te"(sum), [state] "+r"(of_state), [weights] "+r"(of_weights)
                   : [length] "r"(length)
                   : "lr", "q0", "q1", "memory");
#else
    for (; length > 0; length -= 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)length);
        sum = vmladavaq_s16(sum, vldrhq_z_s16(of_state, lanes), vldrhq_z_s16(of_weights, lanes));
        of_state += 8;
        of_weights += 8;
    }
#endif
    *state = of_state;
    *weights = of_weights;
    return sum;
}

#define TINYRT_KERNEL tinyrt_svdf_quads_s8_s16
#define TINYRT_STATE int16_t
#define TINYRT_STATE_MIN INT16_MIN
#define TINYRT_STATE_MAX INT16_MAX
#define TINYRT_SCATTER vstrhq_scatter_shifted_offset_p_s32
#define TINYRT_PAST past
#include "tinyrt_svdf_quads_loop.h"
