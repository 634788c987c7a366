#include "tinyrt_compare.h"

void tinyrt_compare_f32(const tinyrt_compare_params *p, const float *a, const float *b,
                        uint8_t *y) {
    TINYRT_COMPARE(float);
}
