#include "tinyrt_product_sparse_s8.h"

#include "tinyrt_mve_finish.h"
#include "tinyrt_mve_kept.h"

#if TINYRT_ASM_LOOPS

/** The first patches, two by two; returns how many. */
TINYRT_NOINLINE static int32_t tinyrt_pairs_first(const tinyrt_product_s8_params *p,
                                                  const int8_t *x, int32_t x_step, int32_t count,
                                                  const int32_t *w, const int32_t *scales,
                                                  int8_t *y, int32_t y_step) {
    const int32_t even = (p->rounding == TINYRT_ROUNDING_ANY) ? 0 : (count & ~1);
    if (even == 0) {
        return 0;
    }
    tinyrt_mve_kept kept;
    kept.rounding = p->rounding;
    kept.y_step = y_step;
    kept.a_end = x + (even * x_step);
    kept.a = x;
    kept.b = x + x_step;
    for (int32_t c = 0; c < p->c_out; c += 4) {
        const uint32_t blocks = (uint32_t)w[0];
        kept.first = w[1];
        kept.x_next = (2 * x_step) - w[2];
        w += TINYRT_KEPT_HEAD;
        kept.w = w;
        kept.y = y + c;
        kept.turns = (blocks <= TINYRT_MVE_CHAIN) ? 0 : ((blocks - TINYRT_MVE_CHAIN + 3) / 4);
        kept.turns_end = w + ((1 + (4 * kept.turns)) * TINYRT_KEPT_WORDS);
        kept.rest = (blocks - (4 * kept.turns)) * TINYRT_KEPT_BLOCK_BYTES;
        kept.entry = 0;
        tinyrt_mve_kept_pairs(&kept, scales, p->y_zp);
        w += (1 + blocks) * TINYRT_KEPT_WORDS;
        scales += TINYRT_SCALE_WORDS;
    }
    return even;
}

#else

static int32_t tinyrt_pairs_first(const tinyrt_product_s8_params *p, const int8_t *x,
                                  int32_t x_step, int32_t count, const int32_t *w,
                                  const int32_t *scales, const int8_t *y, int32_t y_step) {
    (void)p, (void)x, (void)x_step, (void)count, (void)w, (void)scales, (void)y, (void)y_step;
    return 0;
}

#endif

/** All channels of one patch. */
static void tinyrt_one_patch(const tinyrt_product_s8_params *p, const int8_t *x, const int32_t *w,
                             const int32_t *scales, int8_t *y) {
    const tinyrt_mve_outputs outputs = tinyrt_mve_outputs_of(p);
    const int8_t *const end = y + p->c_out;
    do {
        const int32x4_t sums = vaddq_s32(tinyrt_mve_kept_dot(x, &w), vldrwq_s32(scales));
        const int32x4_t shift = vldrbq_s32((const int8_t *)(scales + 8));
        vstrbq_s32(y, tinyrt_mve_finish(outputs, sums, vldrwq_s32(scales + 4), shift));
        scales += TINYRT_SCALE_WORDS;
        y += 4;
    } while (y != end);
}

void tinyrt_product_sparse_s8(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                              int32_t count, const int32_t *w, const int32_t *scales, int8_t *y,
                              int32_t y_step) {
    for (int32_t i = tinyrt_pairs_first(p, x, x_step, count, w, scales, y, y_step); i < count;
         ++i) {
        tinyrt_one_patch(p, x + (i * x_step), w, scales, y + (i * y_step));
    }
}
