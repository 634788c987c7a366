#include "tinyrt_svdf_quads.h"

#include "tinyrt_mve.h"

/** The products of a unit's state with its weights, which go on by whole vectors. */
static inline int32_t past(const int8_t **state, const int8_t **weights, int32_t length) {
    const int8_t *of_state = *state;
    const int8_t *of_weights = *weights;
    int32_t sum = 0;
#if TINYRT_ASM_LOOPS
    __asm volatile("wlstp.8 lr, %[length], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[state]], #16\n"
                   "vldrb.8 q1, [%[weights]], #16\n"
                   "vmladava.s8 %[sum], q0, q1\n"
                   "letp lr, 1b\n"
                   "2:\n"
                   : [sum] "+Te"(sum), [state] "+r"(of_state), [weights] "+r"(of_weights)
                   : [length] "r"(length)
                   : "lr", "q0", "q1", "memory");
#else
    for (; length > 0; length -= 16) {
        const mve_pred16_t lanes = vctp8q((uint32_t)length);
        sum = vmladavaq_s8(sum, vldrbq_z_s8(of_state, lanes), vldrbq_z_s8(of_weights, lanes));
        of_state += 16;
        of_weights += 16;
    }
#endif
    *state = of_state;
    *weights = of_weights;
    return sum;
}

#define TINYRT_KERNEL tinyrt_svdf_quads_s8
#define TINYRT_STATE int8_t
#define TINYRT_STATE_MIN INT8_MIN
#define TINYRT_STATE_MAX INT8_MAX
#define TINYRT_SCATTER vstrbq_scatter_offset_p_s32
#define TINYRT_PAST past
#include "tinyrt_svdf_quads_loop.h"
