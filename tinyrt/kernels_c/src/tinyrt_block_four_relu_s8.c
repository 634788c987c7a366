#include "tinyrt_block_four_relu_s8.h"

#include "tinyrt_dot_triples.h"
#include "tinyrt_four_sums.h"
#include "tinyrt_simd.h"

/** An output of a sum that is raised so far. */
static inline int8_t output(uint32_t sum, int32_t raise, int32_t factor, int32_t addend) {
    return (int8_t)tinyrt_saturate_upper(
        tinyrt_add_floored_mul((int32_t)(sum << raise), factor, addend));
}

/** A channel of four pixels, whose sums are raised so far. */
static inline void four_outputs(int32_t raise, const int32_t *sums, int32_t factor, int32_t addend,
                                const tinyrt_offsets *out, int8_t *y) {
    uint32_t pixels[4];
    tinyrt_take_apart(sums, pixels);
    const int8_t fourth = output(pixels[3], raise, factor, addend);
    const int8_t third = output(pixels[2], raise + 8, factor, addend);
    const int8_t second = output(pixels[1], raise + 8, factor, addend);
    const int8_t first = output(pixels[0], raise + 8, factor, addend);
    y[out->fourth] = fourth;
    y[out->third] = third;
    y[out->second] = second;
    y[0] = first;
}

/** The first of two channels, and the other one: their addend lies between their factors. */
static inline void first_outputs(const tinyrt_block_s8_params *p, const int32_t *sums,
                                 const int32_t *mult, const int8_t *shift,
                                 const tinyrt_offsets *out, int8_t *y) {
    (void)shift;
    four_outputs(p->y_zp, sums, mult[0], mult[1], out, y);
}

static inline void other_outputs(const tinyrt_block_s8_params *p, const int32_t *sums,
                                 const int32_t *mult, const int8_t *shift,
                                 const tinyrt_offsets *out, int8_t *y) {
    (void)shift;
    four_outputs(p->y_zp, sums, mult[2], mult[1], out, y);
}

#define TINYRT_FOUR_OUTPUTS first_outputs
#define TINYRT_FOUR_OTHER_OUTPUTS other_outputs
#define TINYRT_FOUR_FIRST 0
#define TINYRT_FOUR_SECOND 3
#define TINYRT_FOUR_WEIGHT int8_t
#define TINYRT_FOUR_DOT tinyrt_dot_triples
#define TINYRT_FOUR_DOT_PAIRS tinyrt_dot_triples_pairs
#define TINYRT_FOUR_BEGIN tinyrt_begin_plain
#include "tinyrt_block_four_loop.h"

void tinyrt_block_four_relu_s8(const tinyrt_block_s8_params *p, const int32_t *triples,
                               const tinyrt_offsets *out, int8_t *y) {
    tinyrt_two_channels_of_four(p, triples, out, y);
}
