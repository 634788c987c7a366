#include "tinyrt_add.h"

#include "tinyrt_mve_add.h"

void tinyrt_sub_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y) {
    tinyrt_mve_add(p, -1, a, b, y);
}
