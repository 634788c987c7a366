#include "tinyrt_winograd.h"

#include "tinyrt_winograd_loop.h"

void tinyrt_winograd_part_s8(const tinyrt_winograd_s8_params *p, int32_t fills, const int8_t *x,
                             tinyrt_taps_word *tiles, int32_t *sums, int8_t *y) {
    tinyrt_two_tiles(p, x, 0, 0, fills, tiles, sums, y);
}
