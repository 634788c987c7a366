#include "tinyrt_max_pool2d.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_pool_walk.h"
#include "tinyrt_vectors.h"

/** Channels [0, the result) of an output, of as many as there are. */
static inline int32_t some_channels(const tinyrt_pool2d_s8_params *p, tinyrt_area area,
                                    const int8_t *x, int32_t channels, int8_t *y) {
#ifdef TINYRT_VECTORS
    __asm volatile(
        "vsetvli %[vl], %[vl], e8, m8, ta, ma\n"
        "vmv.v.x v0, %[low]\n"
        "1:\n"
        "mv t0, %[x]\n"
        "mv t1, %[columns]\n"
        "2:\n"
        "vle8.v v8, (t0)\n"
        "add t0, t0, %[step]\n"
        "addi t1, t1, -1\n"
        "vmax.vv v0, v0, v8\n"
        "bnez t1, 2b\n"
        "add %[x], %[x], %[row_step]\n"
        "addi %[rows], %[rows], -1\n"
        "bnez %[rows], 1b\n"
        "vmin.vx v0, v0, %[high]\n"
        "vse8.v v0, (%[y])\n"
        : [vl] "+r"(channels), [x] "+r"(x), [rows] "+r"(area.rows)
        : [columns] "r"(area.columns), [step] "r"(area.column_step), [row_step] "r"(area.row_step),
          [low] "r"(p->act_min), [high] "r"(p->act_max), [y] "r"(y)
        : "t0", "t1", "memory" TINYRT_CLOBBERED);
    return channels;
#else
    (void)channels;
    int32_t most = p->act_min;
    for (; area.rows > 0; --area.rows, x += area.row_step) {
        for (int32_t i = 0; i < area.columns; ++i) {
            const int8_t value = x[i * area.column_step];
            most = (value > most) ? value : most;
        }
    }
    *y = (int8_t)tinyrt_clamp(most, p->act_min, p->act_max);
    return 1;
#endif
}

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *input, int8_t *output) {
    TINYRT_POOL_WALK(
        p, input, output, int8_t, for (int32_t c = 0; c < p->y.c;) {
            c += some_channels(p, area, x + c, p->y.c - c, y + c);
        });
}
