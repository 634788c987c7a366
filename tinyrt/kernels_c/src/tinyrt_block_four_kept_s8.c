#include "tinyrt_block_four_kept_s8.h"

#include "tinyrt_dot_triples.h"
#include "tinyrt_finish_four.h"

#define TINYRT_FOUR_OUTPUTS tinyrt_finish_four
#define TINYRT_FOUR_OTHER_OUTPUTS tinyrt_finish_four
#define TINYRT_FOUR_FIRST 1
#define TINYRT_FOUR_SECOND 1
#define TINYRT_FOUR_WEIGHT uint8_t
#define TINYRT_FOUR_DOT tinyrt_dot_raised
#define TINYRT_FOUR_DOT_PAIRS tinyrt_dot_raised_pairs
#define TINYRT_FOUR_BEGIN tinyrt_begin_kept
#include "tinyrt_block_four_loop.h"

void tinyrt_block_four_kept_s8(const tinyrt_block_s8_params *p, const int32_t *triples,
                               const tinyrt_offsets *out, int8_t *y) {
    tinyrt_two_channels_of_four(p, triples, out, y);
}
