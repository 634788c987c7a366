#include "tinyrt_sum.h"

#include "tinyrt_requant4.h"

#include "tinyrt_tile.h"

/** The parameters in every lane. Factors of doubled values are halved: the lanes' high
 *  multiplication doubles. */
typedef struct {
    tinyrt_lanes scaled_factor;
    tinyrt_lanes scaled_addend;
    tinyrt_lanes scaled_mult;
    tinyrt_lanes scaled_shift;
    tinyrt_lanes rescaled_factor;
    tinyrt_lanes plain_factor;
    tinyrt_lanes addend;
    tinyrt_lanes mult;
    tinyrt_lanes shift;
    tinyrt_lanes zp;
    tinyrt_lanes low;
    tinyrt_lanes high;
} sum_lanes;

TINYRT_INLINE void sum(const sum_lanes *p, const int8_t *plain, const int8_t *scaled, int8_t *y,
                       int32_t count) {
    const tinyrt_lanes raised = tinyrt_add_lanes(
        tinyrt_mul_lanes(tinyrt_widen_lanes(scaled), p->scaled_factor), p->scaled_addend);
    const tinyrt_lanes rescaled =
        tinyrt_lower_lanes(tinyrt_high_lanes(raised, p->scaled_mult), p->scaled_shift);
    const tinyrt_lanes unscaled =
        tinyrt_add_lanes(tinyrt_mul_lanes(tinyrt_widen_lanes(plain), p->plain_factor), p->addend);
    const tinyrt_lanes total =
        tinyrt_add_lanes(unscaled, tinyrt_mul_lanes(rescaled, p->rescaled_factor));
    const tinyrt_lanes out = tinyrt_lower_lanes(tinyrt_high_lanes(total, p->mult), p->shift);
    tinyrt_store_lanes(tinyrt_clamp_lanes(tinyrt_add_lanes(out, p->zp), p->low, p->high), y, count);
}

void tinyrt_sum_s8(const tinyrt_sum_s8_params *params, const int8_t *plain, const int8_t *scaled,
                   int8_t *y) {
    const sum_lanes p = {
        .scaled_factor = tinyrt_set_lanes(params->scaled_factor / 2),
        .scaled_addend = tinyrt_set_lanes(params->scaled_addend / 2),
        .scaled_mult = tinyrt_set_lanes(params->scaled_mult),
        .scaled_shift = tinyrt_set_lanes(params->scaled_shift),
        .rescaled_factor = tinyrt_set_lanes(params->rescaled_factor / 2),
        .plain_factor = tinyrt_set_lanes(params->plain_factor / 2),
        .addend = tinyrt_set_lanes(params->addend / 2),
        .mult = tinyrt_set_lanes(params->y_mult),
        .shift = tinyrt_set_lanes(params->y_shift),
        .zp = tinyrt_set_lanes(params->y_zp),
        .low = tinyrt_set_lanes(INT8_MIN),
        .high = tinyrt_set_lanes(INT8_MAX),
    };
    const int32_t size = params->size;
    int32_t i = 0;
    for (; i + TINYRT_LANES <= size; i += TINYRT_LANES) {
        sum(&p, plain + i, scaled + i, y + i, TINYRT_LANES);
    }
    if (i < size) {
        int8_t rest[2][TINYRT_LANES] = {{0}};
        memcpy(rest[0], plain + i, (size_t)(size - i));
        memcpy(rest[1], scaled + i, (size_t)(size - i));
        sum(&p, rest[0], rest[1], y + i, size - i);
    }
}
