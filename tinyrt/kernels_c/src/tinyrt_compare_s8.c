#include "tinyrt_compare.h"

void tinyrt_compare_s8(const tinyrt_compare_params *p, const int8_t *a, const int8_t *b,
                       uint8_t *y) {
    TINYRT_COMPARE(int8_t);
}
