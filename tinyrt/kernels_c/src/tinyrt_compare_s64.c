#include "tinyrt_compare.h"

void tinyrt_compare_s64(const tinyrt_compare_params *p, const int64_t *a, const int64_t *b,
                        uint8_t *y) {
    TINYRT_COMPARE(int64_t);
}
