#include "tinyrt_compare.h"

void tinyrt_compare_s32(const tinyrt_compare_params *p, const int32_t *a, const int32_t *b,
                        uint8_t *y) {
    TINYRT_COMPARE(int32_t);
}
