#include "tinyrt_compare.h"

void tinyrt_compare_s16(const tinyrt_compare_params *p, const int16_t *a, const int16_t *b,
                        uint8_t *y) {
    TINYRT_COMPARE(int16_t);
}
